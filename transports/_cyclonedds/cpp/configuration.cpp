#include "configuration.hpp"

#include "buffer.hpp"

using hopmeter::Setup;

namespace cyclone {
namespace {

/// The ports of lower domains stay below those that the system gives to whoever asks.
constexpr unsigned long domains = 99;

/// Peers are looked for at the ports of a hundred processes. A hundred and twenty would reach into the next domain.
constexpr const char* loopback =
    "<General><Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast>";
constexpr const char* discovery =
    "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers>";

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

}  // namespace cyclone
