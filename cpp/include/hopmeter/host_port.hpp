/// Parses addresses of the forms HOST:PORT and USER:PASSWORD@HOST:PORT.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "hopmeter/error.hpp"

namespace hopmeter {

struct HostPort {
  std::string host;
  std::uint16_t port;

  static HostPort parse(std::string_view address) {
    const auto colon = address.rfind(':');
    std::uint16_t port = 0;
    const auto* end = address.data() + address.size();
    if (colon != address.npos && colon + 1 < address.size()) {
      const auto [read, error] = std::from_chars(address.data() + colon + 1, end, port);
      if (error == std::errc() && read == end) return {std::string(address.substr(0, colon)), port};
    }
    throw Error("the address " + std::string(address) + " does not have the form HOST:PORT");
  }
};

/// The address of a broker. User and password are empty if the broker requires none.
struct BrokerAddress {
  std::string user, password;
  HostPort place;

  static BrokerAddress parse(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos) return {"", "", HostPort::parse(address)};
    const auto credentials = address.substr(0, at), place = address.substr(at + 1);
    const auto colon = credentials.find(':');
    if (colon == credentials.npos) throw Error("the user of the broker at " + std::string(place) + " has no password");
    return {std::string(credentials.substr(0, colon)), std::string(credentials.substr(colon + 1)),
            HostPort::parse(place)};
  }

  /// The address as HOST:PORT, without user and password.
  std::string text() const { return place.host + ":" + std::to_string(place.port); }
};

}  // namespace hopmeter
