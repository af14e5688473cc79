/// The manifest's settings as Fast DDS's qualities of service.
#pragma once

#include "hopmeter/hopmeter.hpp"

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

// Its headers also have a global `dds`, for the standard's C++ interface.
namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

/// The same for all nodes of a trial. Topics carry the run in their names, so a clash of trials only costs discovery.
std::uint32_t domain_of(const std::string& run);

/// The library's own choice of transports with its own numbers, but on this host only.
fast::DomainParticipantQos participant_qos(const hopmeter::Setup& setup);
fast::DataWriterQos writer_qos(const hopmeter::Setup& setup);
fast::DataReaderQos reader_qos(const hopmeter::Setup& setup);

/// Whether readers of the writer's own process are served without a transport; for participants made from now on.
void set_intra_process(bool is_on);
