#include "qos.hpp"

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>
#include <algorithm>

namespace transports = eprosima::fastdds::rtps;
using namespace eprosima::fastrtps;
using hopmeter::Setup;

namespace {

/// The ports of lower domains stay below those that the system gives to whoever asks.
constexpr std::uint32_t domains = 99;

auto udp(const Setup& setup) {
  auto udp = std::make_shared<transports::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList = {"127.0.0.1"};
  udp->sendBufferSize = udp->receiveBufferSize = setup.setting<std::uint32_t>("socket_buffer_bytes");
  return udp;
}

auto shared_memory(const Setup& setup, bool is_alone) {
  auto shared = std::make_shared<transports::SharedMemTransportDescriptor>();
  const auto segment_bytes = setup.setting<std::uint32_t>("segment_bytes");
  if (segment_bytes != 0) shared->segment_size(segment_bytes);
  // Beside UDP messages would be cut for it all the same.
  if (segment_bytes != 0 && is_alone) shared->max_message_size(segment_bytes);
  return shared;
}

template <class Qos>
Qos settled(const Setup& setup) {
  Qos qos;
  const auto text = [&](const char* name) { return setup.setting<std::string>(name); };
  const bool is_reliable = text("reliability") == "reliable", is_volatile = text("durability") == "volatile";
  const bool keeps_last = text("history") == "keep-last";
  const auto depth = setup.setting<std::int32_t>("depth");
  qos.reliability().kind = is_reliable ? fast::RELIABLE_RELIABILITY_QOS : fast::BEST_EFFORT_RELIABILITY_QOS;
  qos.durability().kind = is_volatile ? fast::VOLATILE_DURABILITY_QOS : fast::TRANSIENT_LOCAL_DURABILITY_QOS;
  qos.history().kind = keeps_last ? fast::KEEP_LAST_HISTORY_QOS : fast::KEEP_ALL_HISTORY_QOS;
  qos.history().depth = depth;
  auto& limits = qos.resource_limits();
  limits.max_samples = keeps_last ? std::max(limits.max_samples, depth) : depth;
  limits.max_samples_per_instance = keeps_last ? std::max(limits.max_samples_per_instance, depth) : depth;
  limits.allocated_samples = std::min(limits.allocated_samples, limits.max_samples);
  if (setup.setting<bool>("data_sharing"))
    qos.data_sharing().on("");
  else
    qos.data_sharing().off();
  return qos;
}

}  // namespace

std::uint32_t domain_of(const std::string& run) {
  return 1 + static_cast<std::uint32_t>(std::hash<std::string>{}(run) % domains);
}

fast::DomainParticipantQos participant_qos(const Setup& setup) {
  fast::DomainParticipantQos qos;
  qos.name("hopmeter " + setup.run());
  // Each writer that is called from another one's call, as those of relays within a process are, holds a buffer.
  qos.allocation().send_buffers.dynamic = true;
  qos.transport().use_builtin_transports = false;
  auto& used = qos.transport().user_transports;
  const auto transport = setup.setting<std::string>("transport");
  if (transport != "shm") used.push_back(udp(setup));
  if (transport != "udp") used.push_back(shared_memory(setup, transport == "shm"));
  return qos;
}

fast::DataWriterQos writer_qos(const Setup& setup) {
  auto qos = settled<fast::DataWriterQos>(setup);
  const bool is_asynchronous = setup.setting<std::string>("publish") == "asynchronous";
  qos.publish_mode().kind = is_asynchronous ? fast::ASYNCHRONOUS_PUBLISH_MODE : fast::SYNCHRONOUS_PUBLISH_MODE;
  qos.reliable_writer_qos().times.heartbeatPeriod = Duration_t(setup.setting<std::int32_t>("heartbeat_ms") / 1e3L);
  return qos;
}

fast::DataReaderQos reader_qos(const Setup& setup) { return settled<fast::DataReaderQos>(setup); }

void set_intra_process(bool is_on) {
  auto settings = xmlparser::XMLProfileManager::library_settings();
  settings.intraprocess_delivery = is_on ? INTRAPROCESS_FULL : INTRAPROCESS_OFF;
  xmlparser::XMLProfileManager::library_settings(settings);
}
