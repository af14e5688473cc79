#include "meetings.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "profile.hpp"

using hopmeter::Facts;

namespace fastdds {
namespace {

/// The library's.
constexpr std::size_t default_segment_bytes = 512 << 10;

constexpr const char* within = "within the process";
constexpr const char* data_sharing = "data sharing";
constexpr const char* shared_memory = "shared memory";
constexpr const char* udp = "UDP on the loopback device";

std::string joined(const std::set<std::string>& words, const char* between = ", ") {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

/// The sizes of the segments that this process and its peers have mapped, as the system knows them. Ports, by which
/// the segments' pieces are told, and locks lie beside them under names of their own.
std::string segments(const std::string& run) {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> sizes;
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find("/dev/shm/hm_" + run + "_fastrtps_");
    if (path == line.npos || line.find("_fastrtps_port") != line.npos) continue;
    std::error_code no_matter;
    if (const auto bytes = std::filesystem::file_size(line.substr(path), no_matter); !no_matter)
      sizes.insert(std::to_string(bytes) + " bytes");
  }
  return joined(sizes);
}

}  // namespace

Meetings::Meetings(const hopmeter::Setup& setup, const Customs& customs)
    : customs_(customs),
      run_(setup.run()),
      takes_both_(customs.transport == "default" && setup.setting<std::string>("reliability") == "best-effort"),
      frame_bytes_(setup.frame_bytes()) {}

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
    if (writers.are_here && readers.are_here) ways.insert(customs_.is_intra_process ? within : data_sharing);
    if (writers.are_here) ways.insert(readers.elsewhere.begin(), readers.elsewhere.end());
    if (readers.are_here) ways.insert(writers.elsewhere.begin(), writers.elsewhere.end());
  }
  // What a peer offers is of no use where this process has it not.
  if (!shares_data_ && ways.erase(data_sharing)) ways.insert(shared_memory);
  if (!has_shared_memory_ && ways.erase(shared_memory)) ways.insert(udp);
  if (takes_both_ && ways.contains(shared_memory)) ways.insert(udp);
  return ways;
}

std::string Meetings::other_way(const std::set<std::string>& ways) const {
  if (customs_.is_data_sharing && (ways.contains(shared_memory) || ways.contains(udp)))
    return "data sharing was asked for, but Fast DDS took a transport";
  if (ways.contains(shared_memory) && ways.contains(udp) && takes_both_)
    return "Fast DDS sends best-effort samples by UDP as well as by shared memory; transport = shm or udp takes one";
  if (customs_.transport != "udp" && ways.contains(udp))
    return "shared memory was asked for, but Fast DDS took UDP: see whether /dev/shm can be written";
  return "";
}

/// What has become of a frame that a segment cannot hold depends on who runs when; the next run may lose it.
std::string Meetings::too_small(const std::set<std::string>& ways) const {
  const std::size_t segment_bytes = customs_.segment_bytes != 0 ? customs_.segment_bytes : default_segment_bytes;
  if (!ways.contains(shared_memory) || frame_bytes_ <= segment_bytes) return "";
  return "frames of " + std::to_string(frame_bytes_) + " bytes are larger than Fast DDS's segment of " +
         std::to_string(segment_bytes) +
         " bytes: their pieces are dropped where it is full, and are lost or come again after a heartbeat; " +
         "profile = large, or a larger segment_bytes, holds them";
}

Facts Meetings::facts() {
  const auto ways = this->ways();
  Facts facts{{"path", joined(ways)}};
  if (ways.contains(shared_memory)) facts.emplace_back("segment", segments(run_));
  std::set<std::string> fallbacks{other_way(ways), too_small(ways)};
  if (ways.contains(udp))
    for (auto& [name, value] : buffer_facts(customs_))
      if (name == "fallback")
        fallbacks.insert(value);
      else
        facts.emplace_back(name, value);
  fallbacks.erase("");
  if (!fallbacks.empty()) facts.emplace_back("fallback", joined(fallbacks, "; "));
  return facts;
}

}  // namespace fastdds
