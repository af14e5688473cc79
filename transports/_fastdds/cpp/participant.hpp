/// A DDS participant, and the writers and readers in it.
#pragma once

#include <fastrtps/xmlparser/XMLProfileManager.h>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include "discovery.hpp"
#include "hopmeter/hopmeter.hpp"

namespace fastdds {

/// The state that all participants of the process share.
struct Session {
  Session(const hopmeter::Setup& setup, const Options& options)
      : setup(setup), options(options), discovery(setup, options) {
    using namespace eprosima::fastrtps;
    auto settings = xmlparser::XMLProfileManager::library_settings();
    settings.intraprocess_delivery = options.is_intra_process ? INTRAPROCESS_FULL : INTRAPROCESS_OFF;
    xmlparser::XMLProfileManager::library_settings(settings);
  }

  hopmeter::Setup setup;
  Options options;
  Discovery discovery;
};

/// A topic with its name and its type.
struct TypedTopic {
  std::string name;
  fast::TypeSupport type;
};

/// Throws if a Fast DDS call returned null, which means that it failed.
template <class Entity>
Entity* demand(Entity* entity, const std::string& what) {
  if (!entity) throw hopmeter::Error("Fast DDS could not create " + what, "the log of this node contains the reason");
  return entity;
}

class Participant {
 public:
  explicit Participant(Session& session) {
    const auto run = session.setup.run();
    participant_ = demand(factory()->create_participant(domain_of(run), participant_qos(run, session.options),
                                                        &session.discovery, fast::StatusMask::none()),
                          "a participant");
    // Creating these entities fails only if there is not enough memory.
    publisher_ = participant_->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
    subscriber_ = participant_->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  }
  Participant(const Participant&) = delete;
  ~Participant() {
    participant_->set_listener(nullptr);
    participant_->delete_contained_entities();
    factory()->delete_participant(participant_);
  }

  fast::DataWriter* writer(const TypedTopic& topic, const fast::DataWriterQos& qos) {
    return demand(publisher_->create_datawriter(register_topic(topic), qos), "a writer of " + topic.name);
  }

  fast::DataReader* reader(const TypedTopic& topic, const fast::DataReaderQos& qos,
                           fast::DataReaderListener* listener = nullptr) {
    const auto mask = listener ? fast::StatusMask::data_available() : fast::StatusMask::none();
    return demand(subscriber_->create_datareader(register_topic(topic), qos, listener, mask),
                  "a reader of " + topic.name);
  }

  void close(fast::DataWriter* writer) {
    auto* topic = writer->get_topic();
    publisher_->delete_datawriter(writer);
    participant_->delete_topic(topic);
  }

  void close(fast::DataReader* reader) {
    const auto* topic = dynamic_cast<const fast::Topic*>(reader->get_topicdescription());
    subscriber_->delete_datareader(reader);
    participant_->delete_topic(topic);
  }

 private:
  static fast::DomainParticipantFactory* factory() { return fast::DomainParticipantFactory::get_instance(); }

  fast::Topic* register_topic(const TypedTopic& topic) {
    const std::lock_guard lock(mutex_);
    if (auto* known = participant_->find_topic(topic.name, {0, 0})) return known;
    const auto type = topic.type.get_type_name();
    // Each type name can be registered only once.
    if (participant_->find_type(type).empty()) topic.type.register_type(participant_);
    return demand(participant_->create_topic(topic.name, type, fast::TOPIC_QOS_DEFAULT), "the topic " + topic.name);
  }

  /// Protects the creation of topics, because both ends of a link share a topic.
  std::mutex mutex_;
  fast::DomainParticipant* participant_;
  fast::Publisher* publisher_;
  fast::Subscriber* subscriber_;
};

/// A writer or reader, and its participant. The destructor closes the writer or reader.
template <class End>
class Endpoint {
 public:
  Endpoint(Participant& participant, End* end) : participant_(participant), end_(end) {}
  Endpoint(const Endpoint&) = delete;
  ~Endpoint() { participant_.close(end_); }

  End* operator->() const noexcept { return end_; }
  End& operator*() const noexcept { return *end_; }

 private:
  Participant& participant_;
  End* end_;
};

}  // namespace fastdds
