#include "buffer.hpp"

#include "../../_udp/cpp/receive_buffer.hpp"

using hopmeter::Facts;
using hopmeter::Setup;

namespace cyclone {
namespace {

/// What Cyclone DDS puts into a datagram by default.
constexpr std::size_t one_datagram_bytes = 14720;
/// What lost messages are due to; the Python adapters say the same.
constexpr auto in_pieces =
    "large samples travel in pieces, and those that the socket's receive buffer has no room for are dropped; "
    "profile=large asks for 4 MB of it";

}  // namespace

Facts buffer_facts(const Setup& setup) {
  if (!is_large(setup)) return setup.frame_bytes() > one_datagram_bytes ? Facts{{"loss", in_pieces}} : Facts{};
  return udp::buffer_facts(large_buffer_bytes);
}

}  // namespace cyclone
