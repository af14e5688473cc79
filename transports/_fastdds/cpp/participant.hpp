/// A participant of DDS, and the writers and readers in it.
#pragma once

#include "hopmeter/hopmeter.hpp"

#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include "meetings.hpp"

/// What all participants of the process share.
struct House {
  House(const hopmeter::Setup& setup, fast::TypeSupport type);

  hopmeter::Setup setup;
  fast::TypeSupport type;
  Meetings meetings;
};

class Participant {
 public:
  explicit Participant(House& house);
  Participant(const Participant&) = delete;
  ~Participant();

  fast::DataWriter* writer(const hopmeter::Link& link);
  fast::DataReader* reader(const hopmeter::Link& link, fast::DataReaderListener* listener = nullptr);
  void close(fast::DataWriter* writer);
  void close(fast::DataReader* reader);

 private:
  fast::Topic* topic(const std::string& name);

  House& house_;
  /// Guards the making of topics, of which there is one for both ends.
  std::mutex making_;
  fast::DomainParticipant* participant_;
  fast::Publisher* publisher_;
  fast::Subscriber* subscriber_;
};
