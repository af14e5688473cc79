/// Determines how samples may travel, from the link ends that Fast DDS discovers.
#pragma once

#include <algorithm>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "qos.hpp"

namespace fastdds {

/// Listens to the discovery events of every participant in the process.
class Discovery final : public fast::DomainParticipantListener {
 public:
  Discovery(const hopmeter::Setup& setup, const Options& options)
      : options_(options),
        udp("UDP on " + setup.network_device()),
        uses_both_(options.transport == "default" && setup.setting<std::string>("reliability") == "best-effort"),
        frame_bytes_(setup.largest_frame_bytes()) {}

  /// Returns how the samples travelled, and why their path differs from the settings, if it does. Call this function
  /// after the last sample.
  hopmeter::Facts facts() {
    const auto paths = find_paths();
    hopmeter::Facts facts{{"path", join(paths, ", ")}};
    facts.emplace_back("loan", options_.is_data_sharing ? "in the writer's history" : "none, samples are serialised");
    if (paths.contains(shared_memory)) facts.emplace_back("segment", segment_sizes());
    std::set<std::string> fallbacks{fallback(paths), segment_warning(paths)};
    for (auto& [name, value] : paths.contains(udp) ? buffer_facts(options_) : hopmeter::Facts()) {
      if (name == "fallback")
        fallbacks.insert(value);
      else
        facts.emplace_back(name, value);
    }
    fallbacks.erase("");
    if (!fallbacks.empty()) facts.emplace_back("fallback", join(fallbacks, "\n"));
    return facts;
  }

 private:
  static constexpr const char* within = "within the process";
  static constexpr const char* data_sharing = "data sharing";
  static constexpr const char* shared_memory = "shared memory";

  /// The writers or readers of a topic: whether any of them are in this process, and how samples travel to those in
  /// other processes.
  struct Ends {
    bool are_here = false;
    std::set<std::string> elsewhere;
  };
  struct Topic {
    Ends writers, readers;
  };

  void on_subscriber_discovery(fast::DomainParticipant* participant, rtps::ReaderDiscoveryInfo&& info) override {
    if (info.status == rtps::ReaderDiscoveryInfo::DISCOVERED_READER) add(*participant, info.info, &Topic::readers);
  }
  void on_publisher_discovery(fast::DomainParticipant* participant, rtps::WriterDiscoveryInfo&& info) override {
    if (info.status == rtps::WriterDiscoveryInfo::DISCOVERED_WRITER) add(*participant, info.info, &Topic::writers);
  }

  void add(const fast::DomainParticipant& participant, const auto& end, Ends Topic::*side) {
    // A link end without memory for data sharing silently continues, but announces no data-sharing domain.
    const auto& sharing = end.m_qos.data_sharing;
    const bool shares_data = sharing.kind() != fast::OFF && !sharing.domain_ids().empty();
    const auto& ports = end.remote_locators().unicast;
    const bool has_shared_memory =
        std::any_of(ports.begin(), ports.end(), [](const auto& port) { return port.kind == LOCATOR_KIND_SHM; });

    const std::lock_guard lock(mutex_);
    auto& ends = topics_[end.topicName().to_string()].*side;
    if (end.guid().is_on_same_process_as(participant.guid())) {
      ends.are_here = true;
      shares_data_ &= shares_data;
      has_shared_memory_ |= has_shared_memory;
    } else {
      ends.elsewhere.insert(shares_data ? data_sharing : has_shared_memory ? shared_memory : udp);
    }
  }

  std::set<std::string> find_paths() {
    const std::lock_guard lock(mutex_);
    std::set<std::string> paths;
    for (auto& [name, topic] : topics_) {
      auto& [writers, readers] = topic;
      if (writers.are_here && readers.are_here) paths.insert(options_.is_intra_process ? within : data_sharing);
      if (writers.are_here) paths.insert(readers.elsewhere.begin(), readers.elsewhere.end());
      if (readers.are_here) paths.insert(writers.elsewhere.begin(), writers.elsewhere.end());
    }
    // A path is usable only if both processes support the path.
    if (!shares_data_ && paths.erase(data_sharing)) paths.insert(shared_memory);
    if (!has_shared_memory_ && paths.erase(shared_memory)) paths.insert(udp);
    if (uses_both_ && paths.contains(shared_memory)) paths.insert(udp);
    return paths;
  }

  std::string fallback(const std::set<std::string>& paths) const {
    if (options_.is_data_sharing && (paths.contains(shared_memory) || paths.contains(udp)))
      return "data sharing was requested, but Fast DDS uses a transport";
    if (paths.contains(shared_memory) && paths.contains(udp) && uses_both_)
      return "Fast DDS sends best-effort samples by UDP as well as by shared memory; transport = shm or udp selects "
             "one of them";
    if (options_.transport != "udp" && paths.contains(udp))
      return "shared memory was requested, but Fast DDS uses UDP: check whether /dev/shm is writable";
    return "";
  }

  /// Whether a frame larger than a segment arrives depends on scheduling, so the next run may lose such a frame.
  std::string segment_warning(const std::set<std::string>& paths) const {
    constexpr std::size_t default_segment_bytes = 512 << 10;  // the library's default
    const std::size_t segment_bytes = options_.segment_bytes != 0 ? options_.segment_bytes : default_segment_bytes;
    if (!paths.contains(shared_memory) || frame_bytes_ <= segment_bytes) return "";
    return "frames of " + std::to_string(frame_bytes_) + " bytes are larger than Fast DDS's segment of " +
           std::to_string(segment_bytes) + " bytes, so Fast DDS splits them";
  }

  /// Returns the sizes of the segments that this process and its peers have mapped, without ports and locks.
  std::string segment_sizes() const {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> sizes;
    for (std::string line; std::getline(maps, line);) {
      const auto path = line.find("/dev/shm/fastrtps_");
      if (path == line.npos || line.find("/fastrtps_port") != line.npos) continue;
      std::error_code error;
      const auto bytes = std::filesystem::file_size(line.substr(path), error);
      if (!error) sizes.insert(std::to_string(bytes) + " bytes");
    }
    return join(sizes, ", ");
  }

  static std::string join(const std::set<std::string>& words, const char* separator) {
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : separator) + word;
    return all;
  }

  Options options_;
  const std::string udp;
  /// Whether best-effort samples are sent over both shared memory and UDP, because the library uses every transport
  /// that a reader supports.
  bool uses_both_;
  std::size_t frame_bytes_;
  /// The lock is held only briefly, because Fast DDS reports a link end during its creation.
  std::mutex mutex_;
  std::map<std::string, Topic> topics_;
  /// Properties of the link ends in this process.
  bool shares_data_ = true, has_shared_memory_ = false;
};

}  // namespace fastdds
