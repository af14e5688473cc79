/// The quality of service that the manifest's settings ask for.
#pragma once

#include <dds/dds.h>

#include <memory>

#include "hopmeter/contract.hpp"

namespace cyclone {

using Qos = std::unique_ptr<dds_qos_t, decltype(&dds_delete_qos)>;

Qos writer_qos(const hopmeter::Setup& setup, const hopmeter::Link& link);
Qos reader_qos(const hopmeter::Setup& setup);

}  // namespace cyclone
