/// The quality of service that the manifest's settings ask for.
#pragma once

#include <dds/dds.h>

#include <memory>

#include "hopmeter/contract.hpp"

namespace cyclone {

using Qos = std::unique_ptr<dds_qos_t, decltype(&dds_delete_qos)>;

Qos writer_qos(const hopmeter::Setup& setup, const hopmeter::Link& link);
Qos reader_qos(const hopmeter::Setup& setup);

/// Of the topics of services, which are reliable and volatile, as in ROS 2; what is kept follows the settings.
Qos service_qos(const hopmeter::Setup& setup);
/// Of a client's writer. Where servers are called, its requests are queued.
Qos request_qos(const hopmeter::Setup& setup);

}  // namespace cyclone
