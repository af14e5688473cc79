/// How a transport configures Fast DDS, and the profile for large frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "../../_udp/cpp/receive_buffer.hpp"
#include "hopmeter/contract.hpp"

namespace fastdds {

/// The options in which the transports over Fast DDS differ. The defaults are those of the library.
struct Options {
  /// `default`: shared memory if both link ends support it, otherwise UDP. `shm`, `udp`: only that one.
  std::string transport = "default";
  /// The size of the shared-memory segment of each participant; 0 for the library's default.
  std::uint32_t segment_bytes = 0;
  /// The largest message that is sent through shared memory in one piece; 0 for every message that fits. If UDP is also
  /// in use, messages are fragmented for UDP.
  std::uint32_t message_bytes = 0;
  /// The size of the buffers of UDP sockets; 0 for the system's default.
  std::uint32_t send_buffer_bytes = 0, receive_buffer_bytes = 0;
  /// Whether readers in the writer's process receive samples without a transport.
  bool is_intra_process = true;
  bool is_data_sharing = false;
  /// Whether a thread of the library sends, instead of the thread that calls write.
  bool is_asynchronous = false;
  /// How often a reliable writer announces its samples, and how long each end waits before it answers; 0 for the
  /// library's default.
  std::int32_t heartbeat_ms = 0, response_ms = 0;
  /// How many bytes all writers of a participant together send within a millisecond, on a thread of the library; 0 for
  /// no limit.
  std::uint32_t flow_bytes = 0;
  /// How long a write may wait before it fails with `busy`.
  std::int32_t patience_ms = 100;
  /// Looks for peers with other DDS libraries without multicast: it tries the ports of a hundred participants.
  bool meets_others = false;
  /// The address of the network device that is used.
  std::string address = "127.0.0.1";

  /// Whether all peers are on this machine.
  bool is_local() const { return address.starts_with("127."); }
};

/// Applies the advice in the library's documentation for samples larger than a datagram, to every option that has the
/// library's default. It sets a segment that holds some frames and, without UDP, whole messages; buffers for sockets;
/// with UDP only, a flow that the buffers can hold; and fast answers to missed samples.
inline void enlarge(Options& options, std::size_t frame_bytes) {
  constexpr std::size_t frames = 4;
  constexpr std::size_t minimum_segment_bytes = 8 << 20, maximum_segment_bytes = 1 << 30;
  // The size of a message without its payload: headers, and the other fields of the sample.
  constexpr std::size_t margin_bytes = 64 << 10;
  constexpr std::uint32_t socket_buffer_bytes = 4 << 20;
  // Bytes per millisecond. The maximum flow is half a gigabyte a second, which a receiver on the same core can process.
  // A flow limit below the size of one message of the transport would block every message.
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

/// The granted receive buffer and the flow limit.
inline hopmeter::Facts buffer_facts(const Options& options) {
  if (options.receive_buffer_bytes == 0) return {};
  auto facts = udp::buffer_facts(options.receive_buffer_bytes);
  if (options.flow_bytes != 0)
    facts.emplace_back("flow", "at most " + std::to_string(options.flow_bytes) +
                                   " bytes in each millisecond, sent by a thread of the library");
  return facts;
}

}  // namespace fastdds
