/// Which ways samples can have gone, as Fast DDS tells of the ends that it discovers.
#pragma once

#include "hopmeter/contract.hpp"

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <map>
#include <mutex>
#include <set>

#include "qos.hpp"

namespace fastdds {

/// Listens to all participants of the process.
class Meetings final : public fast::DomainParticipantListener {
 public:
  Meetings(const hopmeter::Setup& setup, const Customs& customs);

  /// The ways of the samples, and where they are not what was asked for. No more samples come.
  hopmeter::Facts facts();

 private:
  /// The writers or the readers of a topic: whether there are some in this process, and the ways to those elsewhere.
  struct Ends {
    bool are_here = false;
    std::set<std::string> elsewhere;
  };
  struct Meeting {
    Ends writers, readers;
  };

  void on_subscriber_discovery(fast::DomainParticipant* participant, rtps::ReaderDiscoveryInfo&& info) override;
  void on_publisher_discovery(fast::DomainParticipant* participant, rtps::WriterDiscoveryInfo&& info) override;
  void note(const fast::DomainParticipant& participant, const auto& end, Ends Meeting::*side);
  std::set<std::string> ways();
  std::string other_way(const std::set<std::string>& ways) const;
  std::string too_small(const std::set<std::string>& ways) const;

  Customs customs_;
  std::string run_;
  /// The library sends best-effort samples over every transport that a reader has; the loopback's counters show it.
  bool takes_both_;
  std::size_t frame_bytes_;
  /// Held for moments only: Fast DDS tells of an end while it makes it.
  std::mutex mutex_;
  std::map<std::string, Meeting> meetings_;
  /// Of the ends of this process.
  bool shares_data_ = true, has_shared_memory_ = false;
};

}  // namespace fastdds
