#include "qos.hpp"

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>
#include <algorithm>

namespace transports = eprosima::fastdds::rtps;
using namespace eprosima::fastrtps;
using hopmeter::Setup;

namespace fastdds {
namespace {

/// The ports of lower domains stay below those that the system gives to whoever asks.
constexpr unsigned long domains = 99;
/// Whose ports are looked at for peers. A hundred and twenty would reach into the next domain.
constexpr std::uint32_t participants = 100;
/// Of the flow controller that all writers of a participant share.
constexpr const char* flow_name = "hopmeter";

auto udp(const Customs& customs) {
  auto udp = std::make_shared<transports::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList = {"127.0.0.1"};
  udp->sendBufferSize = customs.send_buffer_bytes;
  udp->receiveBufferSize = customs.receive_buffer_bytes;
  if (customs.meets_others) udp->maxInitialPeersRange = participants;
  return udp;
}

auto shared_memory(const Customs& customs) {
  auto shared = std::make_shared<transports::SharedMemTransportDescriptor>();
  if (customs.segment_bytes != 0) shared->segment_size(customs.segment_bytes);
  // Beside UDP messages would be cut for it all the same.
  if (customs.segment_bytes != 0 && customs.transport == "shm")
    shared->max_message_size(customs.message_bytes != 0 ? customs.message_bytes : customs.segment_bytes);
  return shared;
}

auto flow(const Customs& customs) {
  auto flow = std::make_shared<transports::FlowControllerDescriptor>();
  flow->name = flow_name;
  flow->max_bytes_per_period = static_cast<std::int32_t>(customs.flow_bytes);
  flow->period_ms = 1;
  return flow;
}

/// Without a multicast address none is listened to, and announcements go to the peers that are named. A port of 0
/// stands for those that the standard gives to a domain's participants.
void meet_others(fast::WireProtocolConfigQos& wire) {
  rtps::Locator_t loopback;
  rtps::IPLocator::setIPv4(loopback, "127.0.0.1");
  wire.builtin.metatrafficUnicastLocatorList.push_back(loopback);
  wire.builtin.initialPeersList.push_back(loopback);
}

Duration_t milliseconds(std::int32_t count) { return Duration_t(count / 1e3L); }

template <class Qos>
Qos settled(const Setup& setup, const Customs& customs) {
  Qos qos;
  const auto text = [&](const char* name) { return setup.setting<std::string>(name); };
  const bool is_reliable = text("reliability") == "reliable", is_volatile = text("durability") == "volatile";
  const bool keeps_last = text("history") == "keep-last";
  const auto depth = setup.setting<std::int32_t>("depth");
  qos.reliability().kind = is_reliable ? fast::RELIABLE_RELIABILITY_QOS : fast::BEST_EFFORT_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = milliseconds(customs.patience_ms);
  qos.durability().kind = is_volatile ? fast::VOLATILE_DURABILITY_QOS : fast::TRANSIENT_LOCAL_DURABILITY_QOS;
  qos.history().kind = keeps_last ? fast::KEEP_LAST_HISTORY_QOS : fast::KEEP_ALL_HISTORY_QOS;
  qos.history().depth = depth;
  auto& limits = qos.resource_limits();
  limits.max_samples = keeps_last ? std::max(limits.max_samples, depth) : depth;
  limits.max_samples_per_instance = keeps_last ? std::max(limits.max_samples_per_instance, depth) : depth;
  limits.allocated_samples = std::min(limits.allocated_samples, limits.max_samples);
  if (customs.is_data_sharing)
    qos.data_sharing().on("");
  else
    qos.data_sharing().off();
  return qos;
}

}  // namespace

std::uint32_t domain_of(const std::string& run) {
  return static_cast<std::uint32_t>(1 + std::stoul(run.substr(0, 8), nullptr, 16) % domains);
}

fast::DomainParticipantQos participant_qos(const std::string& run, const Customs& customs) {
  fast::DomainParticipantQos qos;
  qos.name("hopmeter " + run);
  // Each writer that is called from another one's call, as those of relays within a process are, holds a buffer.
  qos.allocation().send_buffers.dynamic = true;
  qos.transport().use_builtin_transports = false;
  auto& used = qos.transport().user_transports;
  if (customs.transport != "shm") used.push_back(udp(customs));
  if (customs.transport != "udp") used.push_back(shared_memory(customs));
  if (customs.flow_bytes != 0) qos.flow_controllers().push_back(flow(customs));
  if (customs.meets_others) meet_others(qos.wire_protocol());
  return qos;
}

fast::DataWriterQos writer_qos(const Setup& setup, const Customs& customs) {
  auto qos = settled<fast::DataWriterQos>(setup, customs);
  // Only what such a thread sends heeds a flow controller.
  const bool is_asynchronous = customs.is_asynchronous || customs.flow_bytes != 0;
  qos.publish_mode().kind = is_asynchronous ? fast::ASYNCHRONOUS_PUBLISH_MODE : fast::SYNCHRONOUS_PUBLISH_MODE;
  if (customs.flow_bytes != 0) qos.publish_mode().flow_controller_name = flow_name;
  auto& times = qos.reliable_writer_qos().times;
  if (customs.heartbeat_ms != 0) times.heartbeatPeriod = milliseconds(customs.heartbeat_ms);
  if (customs.response_ms != 0) times.nackResponseDelay = milliseconds(customs.response_ms);
  return qos;
}

fast::DataReaderQos reader_qos(const Setup& setup, const Customs& customs) {
  auto qos = settled<fast::DataReaderQos>(setup, customs);
  auto& times = qos.reliable_reader_qos().times;
  if (customs.response_ms != 0) times.heartbeatResponseDelay = milliseconds(customs.response_ms);
  return qos;
}

void set_intra_process(bool is_on) {
  auto settings = xmlparser::XMLProfileManager::library_settings();
  settings.intraprocess_delivery = is_on ? INTRAPROCESS_FULL : INTRAPROCESS_OFF;
  xmlparser::XMLProfileManager::library_settings(settings);
}

}  // namespace fastdds
