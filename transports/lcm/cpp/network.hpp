/// Where a link's messages go, and what the machine makes of it. ../README.md says how addresses are chosen.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "hopmeter/hopmeter.hpp"

inline const std::string multicast_remedy =
    "run `ip link set lo multicast on` and `ip route add 224.0.0.0/4 dev lo` as root, or look at `hopmeter doctor`";

/// A multicast group of this machine's own range and a port below the ephemeral ones, the same for the same name.
struct Group {
  explicit Group(const std::string& name) {
    for (const unsigned char letter : name) hash_ = (hash_ ^ letter) * 16777619U;  // FNV-1a
  }
  std::string host() const {
    return "239.255." + std::to_string(hash_ >> 24) + "." + std::to_string(hash_ >> 16 & 255);
  }
  std::uint16_t port() const { return static_cast<std::uint16_t>(20000 + (hash_ & 0xFFFF) % 12000); }
  std::string url() const { return "udpm://" + host() + ":" + std::to_string(port()) + "?ttl=0"; }

 private:
  std::uint32_t hash_ = 2166136261U;
};

/// A socket to ask the kernel with; it carries nothing.
class Question {
 public:
  Question() : descriptor_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (descriptor_ < 0) throw hopmeter::Error::system("opening a UDP socket");
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() { ::close(descriptor_); }

  /// The address that messages to a group leave from; empty where there is no route.
  std::string source_to(const Group& group) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(group.port());
    ::inet_pton(AF_INET, group.host().c_str(), &address.sin_addr);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    if (::connect(descriptor_, raw, bytes) != 0 || ::getsockname(descriptor_, raw, &bytes) != 0) return {};
    char text[INET_ADDRSTRLEN] = {};
    return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  }

  /// How much of a receive buffer the kernel grants; it doubles what is asked, for its own book-keeping.
  int granted(int asked) const {
    int given = 0;
    socklen_t bytes = sizeof given;
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &asked, sizeof asked);
    ::getsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &given, &bytes);
    return given / 2;
  }

 private:
  int descriptor_;
};

/// The path that messages took, and what is otherwise than asked.
inline hopmeter::Facts network_facts(const hopmeter::Setup& setup) {
  const Question kernel;
  const auto source = kernel.source_to(Group(setup.run()));
  // Addresses of the loopback device may be too narrow for a group; then there is none.
  const bool is_loopback = source.starts_with("127.") || source == "0.0.0.0";
  const int asked = setup.setting<int>("recv_buf_size");
  const int granted = asked == 0 ? 0 : kernel.granted(asked);
  std::string fallback;
  if (!is_loopback)
    fallback = "multicast is looped back at the device of " + source + ", in its small packets: " + multicast_remedy;
  if (granted < asked)
    fallback += (fallback.empty() ? "" : "; ") + std::string("the kernel grants ") + std::to_string(granted) +
                " of the " + std::to_string(asked) +
                " bytes of `recv_buf_size`, so large messages may be lost: run sysctl -w " +
                "net.core.rmem_max=" + std::to_string(asked);
  hopmeter::Facts facts{
      {"path", is_loopback ? "UDP multicast, loopback device" : "UDP multicast, device of " + source}};
  if (!fallback.empty()) facts.emplace_back("fallback", fallback);
  return facts;
}
