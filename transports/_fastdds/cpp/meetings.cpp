#include "meetings.hpp"

#include <algorithm>

using hopmeter::Facts;

namespace fastdds {
namespace {

/// The library's.
constexpr std::size_t default_segment_bytes = 512 << 10;

constexpr const char* within = "within the process";
constexpr const char* data_sharing = "data sharing";
constexpr const char* shared_memory = "shared memory";
constexpr const char* udp = "UDP on the loopback device";

std::string joined(const std::set<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

Meetings::Meetings(const hopmeter::Setup& setup, const Customs& customs)
    : transport_(customs.transport),
      is_intra_process_(customs.is_intra_process),
      is_data_sharing_(customs.is_data_sharing),
      takes_both_(transport_ == "default" && setup.setting<std::string>("reliability") == "best-effort"),
      frame_bytes_(setup.frame_bytes()),
      segment_bytes_(customs.segment_bytes != 0 ? customs.segment_bytes : default_segment_bytes) {}

void Meetings::on_subscriber_discovery(fast::DomainParticipant* participant, rtps::ReaderDiscoveryInfo&& info) {
  if (info.status == rtps::ReaderDiscoveryInfo::DISCOVERED_READER) note(*participant, info.info, &Meeting::readers);
}

void Meetings::on_publisher_discovery(fast::DomainParticipant* participant, rtps::WriterDiscoveryInfo&& info) {
  if (info.status == rtps::WriterDiscoveryInfo::DISCOVERED_WRITER) note(*participant, info.info, &Meeting::writers);
}

void Meetings::note(const fast::DomainParticipant& participant, const auto& end, Ends Meeting::*side) {
  // An end that fails to get memory for data sharing goes on without a word, but announces no domain for it.
  const auto& sharing = end.m_qos.data_sharing;
  const bool shares_data = sharing.kind() != fast::OFF && !sharing.domain_ids().empty();
  const auto& ports = end.remote_locators().unicast;
  const bool has_shared_memory =
      std::any_of(ports.begin(), ports.end(), [](const auto& port) { return port.kind == LOCATOR_KIND_SHM; });

  const std::lock_guard lock(mutex_);
  auto& ends = meetings_[end.topicName().to_string()].*side;
  if (end.guid().is_on_same_process_as(participant.guid())) {
    ends.are_here = true;
    shares_data_ &= shares_data;
    has_shared_memory_ |= has_shared_memory;
  } else {
    ends.elsewhere.insert(shares_data ? data_sharing : has_shared_memory ? shared_memory : udp);
  }
}

std::set<std::string> Meetings::ways() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> ways;
  for (auto& [topic, meeting] : meetings_) {
    auto& [writers, readers] = meeting;
    if (writers.are_here && readers.are_here) ways.insert(is_intra_process_ ? within : data_sharing);
    if (writers.are_here) ways.merge(readers.elsewhere);
    if (readers.are_here) ways.merge(writers.elsewhere);
  }
  // What a peer offers is of no use where this process has it not.
  if (!shares_data_ && ways.erase(data_sharing)) ways.insert(shared_memory);
  if (!has_shared_memory_ && ways.erase(shared_memory)) ways.insert(udp);
  if (takes_both_ && ways.contains(shared_memory)) ways.insert(udp);
  return ways;
}

std::string Meetings::fallback(const std::set<std::string>& ways) const {
  if (is_data_sharing_ && (ways.contains(shared_memory) || ways.contains(udp)))
    return "data sharing was asked for, but Fast DDS took a transport";
  if (ways.contains(shared_memory) && ways.contains(udp) && takes_both_)
    return "Fast DDS sends best-effort samples by UDP as well as by shared memory; transport = shm or udp takes one";
  if (transport_ != "udp" && ways.contains(udp))
    return "shared memory was asked for, but Fast DDS took UDP: see whether /dev/shm can be written";
  return "";
}

/// With reliability the pieces come again when a heartbeat has shown that they are missing, which takes seconds.
std::string Meetings::loss(const std::set<std::string>& ways) const {
  if (!ways.contains(shared_memory) || frame_bytes_ <= segment_bytes_) return "";
  return "messages were lost: a frame is larger than Fast DDS's segment of " + std::to_string(segment_bytes_) +
         " bytes, whose pieces are dropped where readers fall behind; a larger one (segment_bytes) holds it";
}

Facts Meetings::facts() {
  const auto ways = this->ways();
  Facts facts{{"path", joined(ways)}};
  if (const auto told = fallback(ways); !told.empty()) facts.emplace_back("fallback", told);
  if (const auto told = loss(ways); !told.empty()) facts.emplace_back("loss", told);
  return facts;
}

}  // namespace fastdds
