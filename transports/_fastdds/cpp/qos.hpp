/// Converts the options of a transport, and its manifest's settings, to Fast DDS quality of service.
#pragma once

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

#include "options.hpp"

// The Fast DDS headers also define a global namespace `dds`, for the standard C++ interface.
namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

namespace fastdds {

/// The flow controller that all writers of a participant share.
inline constexpr const char* flow_name = "hopmeter";

/// Returns the domain of a trial. Peers that use other DDS libraries compute the same domain.
inline std::uint32_t domain_of(const std::string& run) {
  // Domain numbers below 99 use only ports below the system's ephemeral ports.
  constexpr unsigned long domains = 99;
  return static_cast<std::uint32_t>(1 + std::stoul(run.substr(0, 8), nullptr, 16) % domains);
}

inline auto udp_transport(const Options& options) {
  auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  // A whitelist would also exclude local peers that announce the address of another device, as ROS 2 does.
  if (!options.meets_others || !options.is_local()) udp->interfaceWhiteList = {options.address};
  udp->sendBufferSize = options.send_buffer_bytes;
  udp->receiveBufferSize = options.receive_buffer_bytes;
  // The number of participants whose ports are probed; with 120, the ports would overlap with the next domain.
  if (options.meets_others) udp->maxInitialPeersRange = 100;
  return udp;
}

inline auto shared_memory_transport(const Options& options) {
  auto shared = std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>();
  if (options.segment_bytes == 0) return shared;
  shared->segment_size(options.segment_bytes);
  // If UDP is also in use, messages are fragmented for UDP anyway.
  if (options.transport == "shm")
    shared->max_message_size(options.message_bytes != 0 ? options.message_bytes : options.segment_bytes);
  return shared;
}

inline auto flow_controller(const Options& options) {
  auto flow = std::make_shared<eprosima::fastdds::rtps::FlowControllerDescriptor>();
  flow->name = flow_name;
  flow->max_bytes_per_period = static_cast<std::int32_t>(options.flow_bytes);
  flow->period_ms = 1;
  return flow;
}

inline fast::DomainParticipantQos participant_qos(const std::string& run, const Options& options) {
  fast::DomainParticipantQos qos;
  qos.name("hopmeter " + run);
  // Relays in one process nest a writer's call in another writer's call, and each call needs its own buffer.
  qos.allocation().send_buffers.dynamic = true;
  qos.transport().use_builtin_transports = false;
  auto& transports = qos.transport().user_transports;
  if (options.transport != "shm") transports.push_back(udp_transport(options));
  if (options.transport != "udp") transports.push_back(shared_memory_transport(options));
  if (options.flow_bytes != 0) qos.flow_controllers().push_back(flow_controller(options));
  // Peers on other machines are found by multicast.
  if (!options.meets_others || !options.is_local()) return qos;
  // With only this unicast address, the participant neither listens for multicast nor announces itself elsewhere. Port
  // 0 stands for the domain's standard ports.
  rtps::Locator_t loopback;
  rtps::IPLocator::setIPv4(loopback, "127.0.0.1");
  qos.wire_protocol().builtin.metatrafficUnicastLocatorList.push_back(loopback);
  qos.wire_protocol().default_unicast_locator_list.push_back(loopback);
  qos.wire_protocol().builtin.initialPeersList.push_back(loopback);
  return qos;
}

inline eprosima::fastrtps::Duration_t milliseconds(std::int32_t count) {
  return eprosima::fastrtps::Duration_t(count / 1e3L);
}

template <class Qos>
Qos endpoint_qos(const hopmeter::Setup& setup, const Options& options) {
  Qos qos;
  const auto text = [&](const char* name) { return setup.setting<std::string>(name); };
  const bool is_reliable = text("reliability") == "reliable", is_volatile = text("durability") == "volatile";
  const bool keeps_last = text("history") == "keep-last";
  const auto depth = setup.setting<std::int32_t>("depth");
  qos.reliability().kind = is_reliable ? fast::RELIABLE_RELIABILITY_QOS : fast::BEST_EFFORT_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = milliseconds(options.patience_ms);
  qos.durability().kind = is_volatile ? fast::VOLATILE_DURABILITY_QOS : fast::TRANSIENT_LOCAL_DURABILITY_QOS;
  qos.history().kind = keeps_last ? fast::KEEP_LAST_HISTORY_QOS : fast::KEEP_ALL_HISTORY_QOS;
  qos.history().depth = depth;
  auto& limits = qos.resource_limits();
  limits.max_samples = keeps_last ? std::max(limits.max_samples, depth) : depth;
  limits.max_samples_per_instance = keeps_last ? std::max(limits.max_samples_per_instance, depth) : depth;
  limits.allocated_samples = std::min(limits.allocated_samples, limits.max_samples);
  if (options.is_data_sharing)
    qos.data_sharing().on("");
  else
    qos.data_sharing().off();
  return qos;
}

inline fast::DataWriterQos writer_qos(const hopmeter::Setup& setup, const Options& options) {
  auto qos = endpoint_qos<fast::DataWriterQos>(setup, options);
  // A flow controller applies only to asynchronous writers.
  const bool is_asynchronous = options.is_asynchronous || options.flow_bytes != 0;
  qos.publish_mode().kind = is_asynchronous ? fast::ASYNCHRONOUS_PUBLISH_MODE : fast::SYNCHRONOUS_PUBLISH_MODE;
  if (options.flow_bytes != 0) qos.publish_mode().flow_controller_name = flow_name;
  auto& times = qos.reliable_writer_qos().times;
  if (options.heartbeat_ms != 0) times.heartbeatPeriod = milliseconds(options.heartbeat_ms);
  if (options.response_ms != 0) times.nackResponseDelay = milliseconds(options.response_ms);
  return qos;
}

inline fast::DataReaderQos reader_qos(const hopmeter::Setup& setup, const Options& options) {
  auto qos = endpoint_qos<fast::DataReaderQos>(setup, options);
  auto& times = qos.reliable_reader_qos().times;
  if (options.response_ms != 0) times.heartbeatResponseDelay = milliseconds(options.response_ms);
  return qos;
}

/// Returns the quality of service of service topics: reliable and volatile, as in ROS 2, with the history of the
/// settings.
template <class Qos>
Qos for_service(Qos qos) {
  qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
  qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
  return qos;
}

}  // namespace fastdds
