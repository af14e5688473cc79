/// How a domain of Cyclone DDS is configured: the loopback device only, peers found without multicast.
#pragma once

#include <dds/dds.h>

#include <string>

#include "hopmeter/contract.hpp"

namespace cyclone {

/// What differs between the transports that are built on Cyclone DDS.
struct Customs {
  /// Processes of other trials in the same domain are not met. Peers of other makers know no tags and are not met
  /// either.
  bool is_tagged;
};

/// The domain of a trial. Peers in other languages reckon the same.
dds_domainid_t domain_of(const std::string& run);

/// The configuration, as `CYCLONEDDS_URI` would take it.
std::string configuration(const hopmeter::Setup& setup, const Customs& customs);

}  // namespace cyclone
