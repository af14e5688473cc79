#include "profile.hpp"

#include <algorithm>

#include "../../_udp/cpp/receive_buffer.hpp"

using hopmeter::Facts;

namespace fastdds {
namespace {

constexpr std::size_t large_frames = 4;
constexpr std::size_t smallest_segment_bytes = 8 << 20, largest_segment_bytes = 1 << 30;
/// Of a message beside its payload: headers, and the other fields of the sample.
constexpr std::size_t message_margin_bytes = 64 << 10;
constexpr std::uint32_t socket_buffer_bytes = 4 << 20;
/// Within a millisecond: half a gigabyte a second, which a receiver on the same core keeps up with.
constexpr std::uint32_t most_flow_bytes = 512 << 10;
/// A flow below a message of the transport would never let one pass.
constexpr std::uint32_t least_flow_bytes = 64 << 10;
constexpr std::int32_t large_heartbeat_ms = 20, large_response_ms = 1;

std::uint32_t or_else(std::uint32_t asked, std::size_t otherwise) {
  return asked != 0 ? asked : static_cast<std::uint32_t>(otherwise);
}

}  // namespace

void enlarge(Customs& customs, std::size_t frame_bytes) {
  const auto message_bytes = frame_bytes + message_margin_bytes;
  customs.segment_bytes = or_else(
      customs.segment_bytes,
      std::clamp(large_frames * message_bytes, smallest_segment_bytes, std::max(largest_segment_bytes, message_bytes)));
  customs.message_bytes = std::min<std::uint32_t>(customs.segment_bytes, static_cast<std::uint32_t>(message_bytes));
  customs.send_buffer_bytes = or_else(customs.send_buffer_bytes, socket_buffer_bytes);
  customs.receive_buffer_bytes = or_else(customs.receive_buffer_bytes, socket_buffer_bytes);
  if (customs.heartbeat_ms == 0) customs.heartbeat_ms = large_heartbeat_ms;
  customs.response_ms = large_response_ms;
  if (customs.transport == "udp")
    customs.flow_bytes =
        std::clamp(udp::granted_bytes(customs.receive_buffer_bytes), least_flow_bytes, most_flow_bytes);
}

Facts buffer_facts(const Customs& customs) {
  if (customs.receive_buffer_bytes == 0) return {};
  Facts facts = udp::buffer_facts(customs.receive_buffer_bytes);
  if (customs.flow_bytes != 0)
    facts.emplace_back("flow", "at most " + std::to_string(customs.flow_bytes) +
                                   " bytes in each millisecond, sent by a thread of the library");
  return facts;
}

}  // namespace fastdds
