/// What the system gives of a receive buffer that a library over UDP asks for: it cuts what is too much without a word.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "hopmeter/contract.hpp"

namespace udp {

inline std::uint32_t granted_bytes(std::uint32_t asked_bytes) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw hopmeter::Error::system("opening a socket of UDP");
  int bytes = static_cast<int>(asked_bytes);
  socklen_t length = sizeof(bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, length);
  getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  close(socket);
  return std::min(static_cast<std::uint32_t>(bytes) / 2, asked_bytes);  // Linux says twice of what it counts as given
}

/// What was given, and the remedy where that is less than was asked for.
inline hopmeter::Facts buffer_facts(std::uint32_t asked_bytes) {
  const auto asked = std::to_string(asked_bytes), granted = std::to_string(granted_bytes(asked_bytes));
  hopmeter::Facts facts{{"receive_buffer", granted + " bytes"}};
  if (granted != asked)
    facts.emplace_back("fallback", "the system gives " + granted + " of " + asked +
                                       " bytes of receive buffer: run sysctl -w net.core.rmem_max=" + asked);
  return facts;
}

}  // namespace udp
