/// Checks the receive buffer that the profile for large frames requests.
#pragma once

#include "../../_udp/cpp/receive_buffer.hpp"
#include "hopmeter/contract.hpp"

namespace cyclone {

constexpr std::uint32_t large_buffer_bytes = 4 << 20;

inline bool is_large(const hopmeter::Setup& setup) { return setup.setting<std::string>("profile") == "large"; }

/// Returns the buffer size that the kernel granted for the profile (empty if the profile is not in use).
inline hopmeter::Facts buffer_facts(const hopmeter::Setup& setup) {
  return is_large(setup) ? udp::buffer_facts(large_buffer_bytes) : hopmeter::Facts{};
}

}  // namespace cyclone
