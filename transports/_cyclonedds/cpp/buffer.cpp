#include "buffer.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

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

/// How much of a receive buffer the system gives, which cuts what is too much without a word.
std::uint32_t granted_bytes() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw hopmeter::Error::system("opening a socket of UDP");
  int bytes = static_cast<int>(large_buffer_bytes);
  socklen_t length = sizeof(bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, length);
  getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  close(socket);
  return static_cast<std::uint32_t>(bytes) / 2;  // Linux says twice of what it counts as given
}

}  // namespace

Facts buffer_facts(const Setup& setup) {
  if (!is_large(setup)) return setup.frame_bytes() > one_datagram_bytes ? Facts{{"loss", in_pieces}} : Facts{};
  const auto granted = std::min(granted_bytes(), large_buffer_bytes);
  Facts facts{{"receive_buffer", std::to_string(granted) + " bytes"}};
  if (granted < large_buffer_bytes)
    facts.emplace_back("fallback", "the system gives " + std::to_string(granted) + " of " +
                                       std::to_string(large_buffer_bytes) + " bytes of receive buffer: run sysctl -w " +
                                       "net.core.rmem_max=" + std::to_string(large_buffer_bytes));
  return facts;
}

}  // namespace cyclone
