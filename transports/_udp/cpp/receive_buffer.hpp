/// The receive buffer that the system grants to a library over UDP. The system may grant a smaller buffer than
/// requested, without an error.
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
  return std::min(static_cast<std::uint32_t>(bytes) / 2, requested_bytes);  // Linux reports double
}

/// Describes the granted size, and adds the remedy if it is smaller than requested.
inline hopmeter::Facts buffer_facts(std::uint32_t requested_bytes) {
  const auto requested = std::to_string(requested_bytes), granted = std::to_string(granted_bytes(requested_bytes));
  hopmeter::Facts facts{{"receive_buffer", granted + " bytes"}};
  if (granted != requested)
    facts.emplace_back("fallback", "the system gives " + granted + " of " + requested +
                                       " bytes of receive buffer: run sysctl -w net.core.rmem_max=" + requested);
  return facts;
}

}  // namespace udp
