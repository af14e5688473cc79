/// The C++20 interface of hopmeter's instrument. An adapter is a class that derives from `hopmeter::Transport` (see
/// contract.hpp). The node's program is one line:
///
///     int main(int argc, char** argv) { return hopmeter::run<Zeromq>(argc, argv); }
#pragma once

#include <concepts>

#include "hopmeter/bridge.hpp"
#include "hopmeter/empty.hpp"

// The CMake function hopmeter_add_node() defines all three macros.
#ifndef HOPMETER_TRANSPORT
#define HOPMETER_TRANSPORT "unnamed"
#endif
#ifndef HOPMETER_COMPILER
#define HOPMETER_COMPILER __VERSION__
#endif
#ifndef HOPMETER_FLAGS
#define HOPMETER_FLAGS "unknown"
#endif

namespace hopmeter {

/// Formats a version that a library reports as three numbers.
inline std::string version_text(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// The requirements of a transport class that runs as a node.
template <class Ours>
concept Adapter = std::derived_from<Ours, Transport> && std::constructible_from<Ours, const Setup&> && requires {
  { Ours::version() } -> std::convertible_to<std::string>;
};

/// The description of an adapter that the instrument receives.
template <Adapter Ours>
inline constexpr HopmeterAdapter adapter{
    .abi = HOPMETER_ABI_VERSION,
    .transport = HOPMETER_TRANSPORT,
    .compiler = HOPMETER_COMPILER,
    .flags = HOPMETER_FLAGS,
    .version = [](const HopmeterTextOut* out) noexcept { detail::put(out, Ours::version()); },
    .open =
        [](const HopmeterSetup* setup, HopmeterTransport* out, const HopmeterError* error) {
          return detail::run_open<Transport>(error, out,
                                             [&] { return Owned<Transport>(std::make_unique<Ours>(Setup(setup))); });
        },
    .open_empty =
        [](const HopmeterSetup* setup, HopmeterTransport* out, const HopmeterError* error) {
          return detail::run_open<Transport>(
              error, out, [&] { return Owned<Transport>(std::make_unique<detail::Empty>(Setup(setup))); });
        },
};

/// Runs the node: reads its command line, takes part in the trial and returns the exit status.
template <Adapter Ours>
int run(int argc, char** argv) {
  return hopmeter_main(argc, argv, &adapter<Ours>);
}

}  // namespace hopmeter
