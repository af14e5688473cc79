// A baseline with Fast DDS alone: a second process answers each message on one topic with a message on another topic;
// both use wait sets. The QoS is reliable and volatile with a history of ten. The program uses the messages of
// transports/fastdds, over UDP or a shared segment of SEGMENT bytes (0 for the library's default size). `fastdds DOMAIN
// BYTES ROUNDS CORES SEGMENT` prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.h. Each wait times
// out after 100 ms to check the time, and each process records each arrival.
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>

#include "hopmeterPubSubTypes.h"
#include "rounds.hpp"

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::types::ReturnCode_t;
using message::Timing;

static DomainParticipantFactory& factory = *DomainParticipantFactory::get_instance();

template <class Qos>
static Qos with_qos(Qos qos = {}) {
  qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
  qos.durability().kind = VOLATILE_DURABILITY_QOS;
  qos.history().depth = 10;
  qos.data_sharing().off();
  return qos;
}

static DomainParticipantQos over(uint32_t segment_bytes) {
  const auto shared = std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>();
  if (segment_bytes) shared->segment_size(segment_bytes);
  DomainParticipantQos qos;
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports = {std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>(), shared};
  return qos;
}

struct End {
  End(unsigned domain, uint32_t segment_bytes, const char* to, const char* from) {
    participant = factory.create_participant(domain, over(segment_bytes));
    require(participant != nullptr, "take part");
    TypeSupport(new message::TimingPubSubType).register_type(participant);
    const auto topic = [&](auto name) { return participant->create_topic(name, "message::Timing", TOPIC_QOS_DEFAULT); };
    writer =
        participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(topic(to), with_qos<DataWriterQos>());
    reader = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)
                 ->create_datareader(topic(from), with_qos<DataReaderQos>());
    require(writer && reader, "make a writer and a reader");
    auto& arrival = reader->get_statuscondition();
    arrival.set_enabled_statuses(StatusMask::data_available());
    arrivals.attach_condition(arrival);
  }
  ~End() {
    arrivals.detach_condition(reader->get_statuscondition());
    participant->delete_contained_entities();
    factory.delete_participant(participant);
  }

  // Returns the time at which a message arrived, or 0 if no message arrived before the timeout.
  int64_t receive(Timing& message) {
    SampleInfo info;
    ConditionSeq arrived;
    while (reader->take_next_sample(&message, &info) != ReturnCode_t::RETCODE_OK || !info.valid_data)
      if (arrivals.wait(arrived, patience) != ReturnCode_t::RETCODE_OK) return 0;
    return now_ns();
  }

  const eprosima::fastrtps::Duration_t patience{LOOK_MS / 1000.0};
  DomainParticipant* participant;
  DataWriter* writer;
  DataReader* reader;
  WaitSet arrivals;
};

int main(int count, char** words) {
  require(count == 6, "start without DOMAIN BYTES ROUNDS CORES SEGMENT");
  prepare(words + 2);
  const pid_t relay = other_process();
  End end(atoi(words[1]), strtoul(words[5], nullptr, 10), relay ? "there" : "back", relay ? "back" : "there");
  Timing message;
  if (relay == 0) {
    while (message.id() >= 0) {
      const int64_t arrived = end.receive(message);
      if (arrived && end.writer->write(&message)) note(message.id(), arrived);
    }
    return 0;
  }
  message.source(std::string(56, 's'));
  message.padding().resize(frame_bytes - 64, 'p');
  int64_t number = 0;
  // Returns the time from the stamp until the message came back, or 0 if the message did not come back.
  measure([&](int looks) -> int64_t {
    message.id(++number);
    message.nanosec(now_ns());
    require(end.writer->write(&message), "write");
    while (looks > 0) {
      const int64_t arrived = end.receive(message);
      if (arrived) note(message.id(), arrived);
      if (arrived && message.id() == number) return arrived - message.nanosec();
      looks -= !arrived;
    }
    return 0;
  });
  message.id(-1);
  end.writer->write(&message);  // tells the relay to exit
  waitpid(relay, nullptr, 0);
  tell_median();
}
