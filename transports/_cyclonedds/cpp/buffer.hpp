/// The receive buffer that the profile for large frames asks for, whichever library opens the socket.
#pragma once

#include <cstdint>

#include "hopmeter/contract.hpp"

namespace cyclone {

constexpr std::uint32_t large_buffer_bytes = 4 << 20;

inline bool is_large(const hopmeter::Setup& setup) { return setup.setting<std::string>("profile") == "large"; }

/// What became of it.
hopmeter::Facts buffer_facts(const hopmeter::Setup& setup);

}  // namespace cyclone
