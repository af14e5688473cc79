/// A participant of DDS, and the writers and readers in it.
#pragma once

#include "hopmeter/contract.hpp"

#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include "meetings.hpp"

namespace fastdds {

/// What all participants of the process share.
struct House {
  House(const hopmeter::Setup& setup, const Customs& customs);

  hopmeter::Setup setup;
  Customs customs;
  Meetings meetings;
};

/// A topic by its name and type.
struct Place {
  std::string topic;
  fast::TypeSupport type;
};

class Participant {
 public:
  explicit Participant(House& house);
  Participant(const Participant&) = delete;
  ~Participant();

  fast::DataWriter* writer(const Place& place, const fast::DataWriterQos& qos);
  fast::DataReader* reader(const Place& place, const fast::DataReaderQos& qos,
                           fast::DataReaderListener* listener = nullptr);
  void close(fast::DataWriter* writer);
  void close(fast::DataReader* reader);

 private:
  fast::Topic* topic(const Place& place);

  /// Guards the making of topics, of which there is one for both ends.
  std::mutex making_;
  fast::DomainParticipant* participant_;
  fast::Publisher* publisher_;
  fast::Subscriber* subscriber_;
};

}  // namespace fastdds
