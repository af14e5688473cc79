/// The receive buffer that the profile for large frames requests, whichever library opens the socket.
#pragma once

#include "../../_udp/cpp/receive_buffer.hpp"
#include "hopmeter/contract.hpp"

namespace cyclone {

constexpr std::uint32_t large_buffer_bytes = 4 << 20;

inline bool is_large(const hopmeter::Setup& setup) { return setup.setting<std::string>("profile") == "large"; }

/// Returns the size that the kernel granted or, without the profile, the reason why messages may be lost. The Python
/// adapters report the same text.
inline hopmeter::Facts buffer_facts(const hopmeter::Setup& setup) {
  constexpr std::size_t datagram_bytes = 14720;  // how many bytes Cyclone DDS puts into a datagram by default
  if (is_large(setup)) return udp::buffer_facts(large_buffer_bytes);
  if (setup.largest_frame_bytes() <= datagram_bytes) return {};
  return {{"loss",
           "large samples travel in pieces, and those that the socket's receive buffer has no room for are dropped; "
           "profile=large asks for 4 MB of it"}};
}

}  // namespace cyclone
