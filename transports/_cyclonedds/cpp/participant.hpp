/// The objects that all link ends of a node share: one domain on a single network device, and one participant.
#pragma once

#include <arpa/inet.h>
#include <dds/dds.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "buffer.hpp"
#include "hopmeter/hopmeter.hpp"
#include "qos.hpp"

namespace cyclone {

/// Returns the result of a Cyclone DDS call; throws if the result is an error.
inline dds_return_t demand(dds_return_t code, const std::string& what, const std::string& remedy = {}) {
  if (code >= 0) return code;
  throw hopmeter::Error("Cyclone DDS could not " + what + ": " + dds_strretcode(code), remedy);
}

/// A Cyclone DDS entity. The destructor deletes the entity; for a reader, the destructor first waits until no listener
/// is running.
class Entity {
 public:
  explicit Entity(dds_entity_t handle) noexcept : handle_(handle) {}
  Entity(Entity&& from) noexcept : handle_(std::exchange(from.handle_, 0)) {}
  ~Entity() {
    if (handle_ > 0) dds_delete(handle_);
  }
  dds_entity_t operator*() const noexcept { return handle_; }

 private:
  dds_entity_t handle_;
};

/// The options that differ between the transports over Cyclone DDS.
struct Options {
  /// Whether a domain tag isolates this trial from other trials in the same domain. A tag also excludes other DDS
  /// libraries, which do not support tags.
  bool is_tagged;
};

/// Returns the domain of a trial. Peers in other languages compute the same domain from the run id.
inline dds_domainid_t domain_of(const std::string& run) {
  // Domain numbers below 99 use only ports below the system's ephemeral ports.
  constexpr unsigned long domains = 99;
  return static_cast<dds_domainid_t>(1 + std::stoul(run.substr(0, 8), nullptr, 16) % domains);
}

/// Returns the address of the first active network device other than loopback (empty if there is none).
inline std::string first_device_address() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  for (const auto* one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    if (!(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK)) continue;
    char text[INET_ADDRSTRLEN];
    if (inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text))
      return text;
  }
  return {};
}

/// Returns the configuration of the domain, in the format of `CYCLONEDDS_URI`. Local peers are found without multicast,
/// and peers on other machines by multicast. Discovery also probes the ports of a hundred processes; more ports would
/// overlap with the next domain.
///
/// Cyclone DDS 0.10 cannot send to the address of an unused device, even on this machine, and ROS 2 announces only such
/// addresses. A loopback domain that other libraries may join therefore also uses a second device, but announces the
/// loopback address for both devices.
inline std::string configuration(const hopmeter::Setup& setup, const Options& options) {
  const bool large = is_large(setup), is_local = setup.advertised().starts_with("127.");
  const auto device = is_local && !options.is_tagged ? first_device_address() : "";
  const auto interface = [](const std::string& address, bool multicast) {
    return "<NetworkInterface address='" + address + "' multicast='" + (multicast ? "true" : "false") + "'/>";
  };
  return "<CycloneDDS><Domain id='any'><General><Interfaces>" + interface(setup.advertised(), !is_local) +
         (device.empty() ? "" : interface(device, false)) + "</Interfaces>" +
         (device.empty() ? "" : "<ExternalNetworkAddress>" + setup.advertised() + "</ExternalNetworkAddress>") +
         "<AllowMulticast>" + (is_local ? "false" : "spdp") + "</AllowMulticast>" +
         (large ? "<MaxMessageSize>65500B</MaxMessageSize>" : "") +
         "</General><Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99"
         "</MaxAutoParticipantIndex><Peers><Peer address='" +
         setup.advertised() + "'/></Peers>" + (options.is_tagged ? "<Tag>" + setup.run() + "</Tag>" : "") +
         "</Discovery>" +
         (large ? "<Internal><SocketReceiveBufferSize max='" + std::to_string(large_buffer_bytes) + "B'/></Internal>"
                : "") +
         "</Domain></CycloneDDS>";
}

class Participant {
 public:
  Participant(const hopmeter::Setup& setup, const Options& options)
      : setup(setup),
        id_(domain_of(setup.run())),
        domain_(demand(dds_create_domain(id_, configuration(setup, options).c_str()),
                       "open domain " + std::to_string(id_), "the log of this node contains the reason")),
        participant_(demand(
            dds_create_participant(id_, nullptr, nullptr),
            "join domain " + std::to_string(id_) + " on " + setup.advertised(),
            "check that " + setup.network_device() + " is up and that fewer than 100 processes use this domain")) {}

  dds_entity_t operator*() const noexcept { return *participant_; }

  Entity topic(const dds_topic_descriptor_t& type, const std::string& name) const {
    return Entity(
        demand(dds_create_topic(*participant_, &type, name.c_str(), nullptr, nullptr), "create the topic " + name));
  }

  /// Records how a sample travelled to a reader.
  void record_path(dds_entity_t reader, dds_instance_handle_t writer) {
    const hopmeter::Resource<dds_builtintopic_endpoint_t, dds_builtintopic_free_endpoint> endpoint(
        dds_get_matched_publication_data(reader, writer));
    if (!endpoint) return;  // the writer has disconnected meanwhile
    dds_instance_handle_t own = 0;
    demand(dds_get_instance_handle(*participant_, &own), "get the handle of its participant");
    const std::lock_guard lock(mutex_);
    paths_.insert(endpoint->participant_instance_handle == own ? "within the process"
                                                               : "UDP on " + setup.network_device());
  }

  hopmeter::Facts facts() {
    auto facts = buffer_facts(setup);
    facts.emplace_back("domain", std::to_string(id_));
    facts.emplace_back("interface", setup.advertised());
    facts.emplace_back("shared_memory", "not used");
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& path : paths_) all += (all.empty() ? "" : ", ") + path;
    if (!all.empty()) facts.emplace_back("path", all);
    return facts;
  }

  const hopmeter::Setup setup;

 private:
  dds_domainid_t id_;
  Entity domain_, participant_;
  std::mutex mutex_;
  std::set<std::string> paths_;
};

}  // namespace cyclone
