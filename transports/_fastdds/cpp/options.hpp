/// How a transport configures Fast DDS, including the profile for large frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "../../_udp/cpp/receive_buffer.hpp"
#include "hopmeter/contract.hpp"

namespace fastdds {

/// The options that differ between the transports over Fast DDS. The defaults are those of the library.
struct Options {
  /// `default`: shared memory if both link ends support it, otherwise UDP. `shm` and `udp`: only the named transport.
  std::string transport = "default";
  /// The size of the shared-memory segment of each participant; 0 for the library's default.
  std::uint32_t segment_bytes = 0;
  /// The largest message that is sent through shared memory in one piece; 0 for no limit. If UDP is also in use,
  /// messages are fragmented to fit UDP.
  std::uint32_t message_bytes = 0;
  /// The buffer sizes of UDP sockets; 0 for the system's default.
  std::uint32_t send_buffer_bytes = 0, receive_buffer_bytes = 0;
  /// Whether readers in the writer's process receive samples directly, without a transport.
  bool is_intra_process = true;
  bool is_data_sharing = false;
  /// Whether a thread of the library sends samples, instead of the thread that writes them.
  bool is_asynchronous = false;
  /// A reliable writer's heartbeat interval, and the response delay of writers and readers; 0 for the library's
  /// default.
  std::int32_t heartbeat_ms = 0, response_ms = 0;
  /// The maximum number of bytes that all writers of a participant may send per millisecond; 0 for no limit.
  std::uint32_t flow_bytes = 0;
  /// How long a write may wait before it fails with `busy`.
  std::int32_t patience_ms = 100;
  /// Whether to find peers of other DDS libraries without multicast, by probing the ports of a hundred participants.
  bool meets_others = false;
  /// The address of the network device in use.
  std::string address = "127.0.0.1";

  /// Whether all peers are on this machine.
  bool is_local() const { return address.starts_with("127."); }
};

/// Sets the library's recommended values for samples larger than a datagram, unless the option was changed. The
/// recommendation is a larger segment, larger socket buffers, faster responses to missed samples and, with UDP only, a
/// flow limit.
inline void enlarge(Options& options, std::size_t frame_bytes) {
  constexpr std::size_t frames = 4;
  constexpr std::size_t minimum_segment_bytes = 8 << 20, maximum_segment_bytes = 1 << 30;
  // The number of bytes that a message needs in addition to its payload: headers, and the sample's other fields.
  constexpr std::size_t margin_bytes = 64 << 10;
  constexpr std::uint32_t socket_buffer_bytes = 4 << 20;
  // Flow limits in bytes per millisecond. The maximum, half a gigabyte per second, is a rate that a receiver on the
  // same core can process. A flow limit below the size of a message would block every message.
  constexpr std::uint32_t minimum_flow_bytes = 64 << 10, maximum_flow_bytes = 512 << 10;
  const auto set_default = [](auto& option, std::size_t value) {
    if (option == 0) option = static_cast<std::remove_reference_t<decltype(option)>>(value);
  };

  const auto message_bytes = frame_bytes + margin_bytes;
  set_default(options.segment_bytes, std::clamp(frames * message_bytes, minimum_segment_bytes,
                                                std::max(maximum_segment_bytes, message_bytes)));
  options.message_bytes = std::min<std::uint32_t>(options.segment_bytes, static_cast<std::uint32_t>(message_bytes));
  set_default(options.send_buffer_bytes, socket_buffer_bytes);
  set_default(options.receive_buffer_bytes, socket_buffer_bytes);
  set_default(options.heartbeat_ms, 20);
  options.response_ms = 1;
  if (options.transport == "udp")
    options.flow_bytes =
        std::clamp(udp::granted_bytes(options.receive_buffer_bytes), minimum_flow_bytes, maximum_flow_bytes);
}

/// Returns the granted receive buffer and the flow limit.
inline hopmeter::Facts buffer_facts(const Options& options) {
  if (options.receive_buffer_bytes == 0) return {};
  auto facts = udp::buffer_facts(options.receive_buffer_bytes);
  if (options.flow_bytes != 0)
    facts.emplace_back("flow", "at most " + std::to_string(options.flow_bytes) +
                                   " bytes in each millisecond, sent by a thread of the library");
  return facts;
}

}  // namespace fastdds
