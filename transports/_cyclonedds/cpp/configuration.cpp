#include "configuration.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "hopmeter/error.hpp"

using hopmeter::Facts;
using hopmeter::Setup;

namespace cyclone {
namespace {

/// The ports of lower domains stay below those that the system gives to whoever asks.
constexpr unsigned long domains = 99;
/// What the profile for large frames asks for.
constexpr std::size_t large_buffer_bytes = 4 << 20;

/// Peers are looked for at the ports of a hundred processes. A hundred and twenty would reach into the next domain.
constexpr const char* loopback =
    "<General><Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast>";
constexpr const char* discovery =
    "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers>";

bool is_large(const Setup& setup) { return setup.setting<std::string>("profile") == "large"; }

/// How much of a receive buffer the system gives, which cuts what is too much without a word.
std::size_t granted_bytes() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw hopmeter::Error::system("opening a socket of UDP");
  int bytes = static_cast<int>(large_buffer_bytes);
  socklen_t length = sizeof(bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, length);
  getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  close(socket);
  return static_cast<std::size_t>(bytes) / 2;  // Linux says twice of what it counts as given
}

}  // namespace

dds_domainid_t domain_of(const std::string& run) {
  return static_cast<dds_domainid_t>(1 + std::stoul(run.substr(0, 8), nullptr, 16) % domains);
}

std::string configuration(const Setup& setup, const Customs& customs) {
  const bool large = is_large(setup);
  std::string xml = "<CycloneDDS><Domain id='any'>";
  xml += std::string(loopback) + (large ? "<MaxMessageSize>65500B</MaxMessageSize>" : "") + "</General>";
  xml += std::string(discovery) + (customs.is_tagged ? "<Tag>" + setup.run() + "</Tag>" : "") + "</Discovery>";
  if (large) xml += "<Internal><SocketReceiveBufferSize max='" + std::to_string(large_buffer_bytes) + "B'/></Internal>";
  return xml + "</Domain></CycloneDDS>";
}

Facts buffer_facts(const Setup& setup) {
  if (!is_large(setup)) return {};
  const auto granted = std::min(granted_bytes(), large_buffer_bytes);
  Facts facts{{"receive_buffer", std::to_string(granted) + " bytes"}};
  if (granted < large_buffer_bytes)
    facts.emplace_back("fallback", "the system gives " + std::to_string(granted) + " of " +
                                       std::to_string(large_buffer_bytes) + " bytes of receive buffer: run sysctl -w " +
                                       "net.core.rmem_max=" + std::to_string(large_buffer_bytes));
  return facts;
}

}  // namespace cyclone
