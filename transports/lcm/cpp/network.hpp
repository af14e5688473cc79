/// The multicast addresses and the network device for a link's messages. ../README.md describes how addresses are
/// chosen.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

#include "../../_udp/cpp/receive_buffer.hpp"
#include "hopmeter/hopmeter.hpp"

inline const std::string multicast_remedy =
    "run `ip link set lo multicast on` and `ip route add 224.0.0.0/4 dev lo` as root, or see `hopmeter doctor`";

/// A multicast group of the local scope (239.255/16) and a port below the ephemeral ports. A name always yields the
/// same group and port.
struct Group {
  explicit Group(const std::string& name) {
    for (const unsigned char letter : name) hash_ = (hash_ ^ letter) * 16777619U;  // FNV-1a
  }
  std::string host() const {
    return "239.255." + std::to_string(hash_ >> 24) + "." + std::to_string(hash_ >> 16 & 255);
  }
  std::uint16_t port() const { return static_cast<std::uint16_t>(20000 + (hash_ & 0xFFFF) % 12000); }
  /// Returns LCM's URL for this group. With a `ttl` of 0, messages do not leave the machine.
  std::string url(const hopmeter::Setup& setup) const {
    const auto* ttl = setup.advertised().starts_with("127.") ? "0" : "1";
    return "udpm://" + host() + ":" + std::to_string(port()) + "?ttl=" + ttl;
  }

 private:
  std::uint32_t hash_ = 2166136261U;
};

/// Returns the source address of messages to a group (empty if there is no route to the group).
inline std::string source_to(const Group& group) {
  const hopmeter::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "opening a UDP socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(group.port());
  ::inet_pton(AF_INET, group.host().c_str(), &address.sin_addr);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof address;
  if (::connect(*socket, raw, bytes) != 0 || ::getsockname(*socket, raw, &bytes) != 0) return {};
  char text[INET_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
}

/// Returns how the messages travel, and any difference from the settings.
inline hopmeter::Facts network_facts(const hopmeter::Setup& setup) {
  const auto source = source_to(Group(setup.run()));
  // The scope of a loopback address may be too narrow for the group; there is then no source address.
  const bool is_loopback = source.starts_with("127.") || source == "0.0.0.0";
  const auto requested = setup.setting<std::uint32_t>("recv_buf_size");
  const auto granted = requested == 0 ? 0 : udp::granted_bytes(requested);
  std::string fallback;
  const bool is_local = setup.advertised().starts_with("127.");
  if (!is_local && source != setup.advertised())
    fallback = "multicast leaves through the device of " + source + ", not through " + setup.network_device() +
               ": run `ip route replace 224.0.0.0/4 dev DEVICE` with that device, as root";
  if (is_local && !is_loopback)
    fallback = "multicast is looped back through the device of " + source + ", in small packets: " + multicast_remedy;
  if (granted < requested) fallback += (fallback.empty() ? "" : "\n") + udp::short_buffer(granted, requested);
  hopmeter::Facts facts{
      {"path", is_loopback ? "UDP multicast, loopback device" : "UDP multicast, device of " + source}};
  if (!fallback.empty()) facts.emplace_back("fallback", fallback);
  return facts;
}
