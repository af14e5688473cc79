// Sends messages with Fast DDS: start `example receive`, then `example send` in a second terminal.
// Build: fastddsgen -replace -t . example.idl
// Build: c++ -std=c++20 -O2 example.cpp *.cxx -o example -lfastrtps -lfastcdr
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
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "examplePubSubTypes.h"

namespace fast = eprosima::fastdds::dds;
using eprosima::fastrtps::Duration_t;
using eprosima::fastrtps::types::ReturnCode_t;

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string RELIABILITY = "reliable";  // or best-effort
const std::string HISTORY = "keep-last";     // or keep-all: if the queue is full, the writer waits
constexpr int DEPTH = 10;
constexpr int PATIENCE_S = 10;
constexpr int DOMAIN = 7;

template <class Entity>
Entity* require(Entity* entity) {
  if (entity) return entity;
  std::fputs("Fast DDS reports an error; its log contains the reason\n", stderr);
  std::exit(1);
}

template <class Qos>
Qos quality() {
  Qos qos;
  const bool is_reliable = RELIABILITY == "reliable";
  qos.reliability().kind = is_reliable ? fast::RELIABLE_RELIABILITY_QOS : fast::BEST_EFFORT_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = Duration_t(PATIENCE_S, 0);
  qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
  qos.history().kind = HISTORY == "keep-last" ? fast::KEEP_LAST_HISTORY_QOS : fast::KEEP_ALL_HISTORY_QOS;
  qos.history().depth = DEPTH;
  return qos;
}

/// Restricts discovery to programs on this machine. By default, Fast DDS searches the whole network for peers.
fast::DomainParticipantQos local_participant() {
  const auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList = {"127.0.0.1"};
  fast::DomainParticipantQos qos;
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports = {udp, std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>()};
  return qos;
}

/// Waits until the status changes or 10 s have passed.
bool wait_for(fast::Entity* entity, const fast::StatusMask& status) {
  entity->get_statuscondition().set_enabled_statuses(status);
  fast::WaitSet waiting;
  waiting.attach_condition(entity->get_statuscondition());
  fast::ConditionSeq active;
  return waiting.wait(active, Duration_t(PATIENCE_S, 0)) == ReturnCode_t::RETCODE_OK;
}

void send(fast::DomainParticipant* participant, fast::Topic* topic) {
  auto* publisher = require(participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT));
  auto* writer = require(publisher->create_datawriter(topic, quality<fast::DataWriterQos>()));
  if (!wait_for(writer, fast::StatusMask::publication_matched())) std::exit(1);  // earlier samples are lost
  Message message;
  message.data().resize(PAYLOAD_BYTES);
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    if (!writer->write(&message)) std::exit(1);
  }
  writer->wait_for_acknowledgments(Duration_t(PATIENCE_S, 0));
  std::printf("sent %d messages\n", COUNT);
}

void receive(fast::DomainParticipant* participant, fast::Topic* topic) {
  auto* subscriber = require(participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT));
  auto* reader = require(subscriber->create_datareader(topic, quality<fast::DataReaderQos>()));
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  while (count < COUNT && wait_for(reader, fast::StatusMask::data_available())) {
    Message message;
    fast::SampleInfo info;
    while (reader->take_next_sample(&message, &info) == ReturnCode_t::RETCODE_OK)
      count += info.valid_data && message.data().size() == PAYLOAD_BYTES;
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  auto* factory = fast::DomainParticipantFactory::get_instance();
  auto* participant = require(factory->create_participant(DOMAIN, local_participant()));
  fast::TypeSupport type(new MessagePubSubType);
  type.register_type(participant);
  auto* topic = require(participant->create_topic(TOPIC, type.get_type_name(), fast::TOPIC_QOS_DEFAULT));
  words > 1 && std::string(word[1]) == "send" ? send(participant, topic) : receive(participant, topic);
  participant->delete_contained_entities();
  factory->delete_participant(participant);
}
