/// Checks the receive buffer that the system grants to a library that uses UDP. The system may silently grant a smaller
/// buffer.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

#include "hopmeter/contract.hpp"
#include "hopmeter/resource.hpp"

namespace udp {

inline std::uint32_t granted_bytes(std::uint32_t requested_bytes) {
  const hopmeter::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "opening a UDP socket");
  int bytes = static_cast<int>(requested_bytes);
  socklen_t length = sizeof(bytes);
  setsockopt(*socket, SOL_SOCKET, SO_RCVBUF, &bytes, length);
  getsockopt(*socket, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return std::min(static_cast<std::uint32_t>(bytes) / 2, requested_bytes);  // Linux reports twice the size
}

/// Describes the consequence of a buffer that is smaller than requested, with the remedy. The Python adapters report
/// the same text.
inline std::string short_buffer(std::uint32_t granted_bytes, std::uint32_t requested_bytes) {
  const auto requested = std::to_string(requested_bytes);
  return "the kernel grants " + std::to_string(granted_bytes) + " of " + requested +
         " bytes of receive buffer, so large messages may be lost: run sysctl -w net.core.rmem_max=" + requested;
}

/// Returns the granted size as a fact, with the remedy if the granted size is smaller than requested.
inline hopmeter::Facts buffer_facts(std::uint32_t requested_bytes) {
  const auto granted = granted_bytes(requested_bytes);
  hopmeter::Facts facts{{"receive_buffer", std::to_string(granted) + " bytes"}};
  if (granted != requested_bytes) facts.emplace_back("fallback", short_buffer(granted, requested_bytes));
  return facts;
}

}  // namespace udp
