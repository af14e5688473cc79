/// Addresses as HOST:PORT.
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
    throw Error("the address " + std::string(address) + " is not HOST:PORT");
  }
};

}  // namespace hopmeter
