#include "participant.hpp"

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include "names.hpp"

namespace fastdds {
namespace {

/// Fast DDS answers null where it fails.
template <class Entity>
Entity* made(Entity* entity, const std::string& what) {
  if (!entity) throw hopmeter::Error("Fast DDS could not make " + what, "read its reason in the log of this node");
  return entity;
}

auto* factory() { return fast::DomainParticipantFactory::get_instance(); }

}  // namespace

House::House(const hopmeter::Setup& setup, const Customs& customs)
    : setup(setup), customs(customs), meetings(setup, customs) {
  name_shared_memory_after(setup.run());
  set_intra_process(customs.is_intra_process);
}

Participant::Participant(House& house) {
  const auto run = house.setup.run();
  const auto qos = participant_qos(run, house.customs);
  const auto nothing = fast::StatusMask::none();
  participant_ = made(factory()->create_participant(domain_of(run), qos, &house.meetings, nothing), "a participant");
  // Neither of these can fail but for want of memory.
  publisher_ = participant_->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  subscriber_ = participant_->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
}

Participant::~Participant() {
  participant_->set_listener(nullptr);
  participant_->delete_contained_entities();
  factory()->delete_participant(participant_);
}

fast::Topic* Participant::topic(const Place& place) {
  const std::lock_guard lock(making_);
  if (auto* known = participant_->find_topic(place.topic, {0, 0})) return known;
  const auto name = place.type.get_type_name();
  // A type of this name can be registered once.
  if (participant_->find_type(name).empty()) place.type.register_type(participant_);
  return made(participant_->create_topic(place.topic, name, fast::TOPIC_QOS_DEFAULT), "the topic " + place.topic);
}

fast::DataWriter* Participant::writer(const Place& place, const fast::DataWriterQos& qos) {
  return made(publisher_->create_datawriter(topic(place), qos), "a writer of " + place.topic);
}

fast::DataReader* Participant::reader(const Place& place, const fast::DataReaderQos& qos,
                                      fast::DataReaderListener* listener) {
  const auto mask = listener ? fast::StatusMask::data_available() : fast::StatusMask::none();
  return made(subscriber_->create_datareader(topic(place), qos, listener, mask), "a reader of " + place.topic);
}

void Participant::close(fast::DataWriter* writer) {
  auto* topic = writer->get_topic();
  publisher_->delete_datawriter(writer);
  participant_->delete_topic(topic);
}

void Participant::close(fast::DataReader* reader) {
  const auto* topic = dynamic_cast<const fast::Topic*>(reader->get_topicdescription());
  subscriber_->delete_datareader(reader);
  participant_->delete_topic(topic);
}

}  // namespace fastdds
