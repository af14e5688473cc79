/// What a transport asks of Fast DDS, as Fast DDS's qualities of service.
#pragma once

#include "hopmeter/contract.hpp"

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

// Its headers also have a global `dds`, for the standard's C++ interface.
namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

namespace fastdds {

/// What differs between the transports that are built on Fast DDS. The defaults are the library's own.
struct Customs {
  /// Shared memory where both ends have it, else UDP (`default`), or only one of the two (`shm`, `udp`).
  std::string transport = "default";
  /// Of each participant; 0 for the library's.
  std::uint32_t segment_bytes = 0;
  /// The largest message that goes through it whole; 0 for all that fit. Beside UDP messages are cut for UDP.
  std::uint32_t message_bytes = 0;
  /// Of UDP's sockets; 0 for the system's.
  std::uint32_t send_buffer_bytes = 0, receive_buffer_bytes = 0;
  /// Whether readers of the writer's own process are served without a transport.
  bool is_intra_process = true;
  bool is_data_sharing = false;
  /// Whether a thread of the library sends, not the caller of write.
  bool is_asynchronous = false;
  /// How often a reliable writer says what it has, and how long either end waits before it answers; 0 for the
  /// library's.
  std::int32_t heartbeat_ms = 0, response_ms = 0;
  /// How much all writers of a participant send within a millisecond, on a thread of the library; 0 for no limit.
  std::uint32_t flow_bytes = 0;
  /// How long a writer may wait; then it is busy.
  std::int32_t patience_ms = 100;
  /// Peers of other makers are looked for without multicast, at the ports of a hundred participants.
  bool meets_others = false;
};

/// The domain of a trial. Peers over other libraries reckon the same.
std::uint32_t domain_of(const std::string& run);

fast::DomainParticipantQos participant_qos(const std::string& run, const Customs& customs);

/// What the manifest's settings ask for.
fast::DataWriterQos writer_qos(const hopmeter::Setup& setup, const Customs& customs);
fast::DataReaderQos reader_qos(const hopmeter::Setup& setup, const Customs& customs);

/// Of the topics of services, which are reliable and volatile, as in ROS 2; what is kept follows the settings.
template <class Qos>
Qos of_service(Qos qos) {
  qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
  qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
  return qos;
}

/// For participants that are made from now on.
void set_intra_process(bool is_on);

}  // namespace fastdds
