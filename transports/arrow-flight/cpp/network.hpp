/// The common parts of topics and calls: servers with their own locations, and clients that connect to them.
#pragma once

#include <arrow/flight/api.h>

#include <chrono>

#include "batches.hpp"
#include "hopmeter/credentials.hpp"

namespace flight = arrow::flight;

/// More bytes than Flight adds to any frame.
inline constexpr std::size_t margin_bytes = 4096;

inline bool is_unix(const hopmeter::Setup& setup) { return setup.setting<std::string>("endpoint") == "unix"; }

/// A Flight server with its own location.
class BoundServer : public flight::FlightServerBase {
 public:
  const std::string& where() const noexcept { return location_; }

  /// Ends all calls, after a short time for their last messages. Afterwards, no code of the server runs.
  void stop() {
    const auto deadline = std::chrono::system_clock::now() + farewell;
    (void)Shutdown(&deadline);
    (void)Wait();
  }

 protected:
  /// Starts the server. A derived class calls this function at the end of its constructor, because the server answers
  /// calls as soon as it has started.
  void start(const hopmeter::Setup& setup, const hopmeter::Link& link) {
    const std::string scheme = hopmeter::uses_tls(setup) ? "grpc+tls://" : "grpc+tcp://";
    const auto place = is_unix(setup) ? "grpc+unix://" + setup.directory() + "/" + link.name + ".flight"
                                      : scheme + setup.bind() + ":0";
    flight::FlightServerOptions options(demand(flight::Location::Parse(place), "parsing " + place));
    if (hopmeter::uses_tls(setup))
      options.tls_certificates.push_back(
          {hopmeter::read_credential(setup, "server.pem"), hopmeter::read_credential(setup, "server.key")});
    demand(Init(options), "starting a Flight server at " + place);
    location_ = is_unix(setup) ? place : scheme + setup.advertised() + ":" + std::to_string(port());
  }

 private:
  static constexpr std::chrono::milliseconds farewell{100};
  std::string location_;
};

/// Connects to a server. Each link end has its own connection, as in separate programs.
inline std::unique_ptr<flight::FlightClient> connect(const hopmeter::Setup& setup, const hopmeter::Link& link) {
  auto options = flight::FlightClientOptions::Defaults();
  if (hopmeter::uses_tls(setup)) options.tls_root_certs = hopmeter::read_credential(setup, "ca.pem");
  const auto largest = static_cast<int>(setup.largest_frame_bytes() + margin_bytes);
  options.generic_options = {{"grpc.max_receive_message_length", largest},
                             {"grpc.use_local_subchannel_pool", 1},
                             {"grpc.enable_http_proxy", 0}};
  const auto location = demand(flight::Location::Parse(link.address), "parsing " + link.address);
  return demand(flight::FlightClient::Connect(location, options), "connecting to " + link.address);
}
