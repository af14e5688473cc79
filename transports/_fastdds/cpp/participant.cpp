#include "participant.hpp"

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include "names.hpp"

using hopmeter::Link;

namespace {

/// Fast DDS answers null where it fails.
template <class Entity>
Entity* made(Entity* entity, const std::string& what) {
  if (!entity) throw hopmeter::Error("Fast DDS could not make " + what, "read its reason in the log of this node");
  return entity;
}

auto* factory() { return fast::DomainParticipantFactory::get_instance(); }

}  // namespace

House::House(const hopmeter::Setup& setup, fast::TypeSupport type) : setup(setup), type(type), meetings(setup) {
  name_shared_memory_after(setup.run());
  set_intra_process(setup.setting<bool>("intra_process"));
}

Participant::Participant(House& house) : house_(house) {
  const auto domain = domain_of(house.setup.run());
  const auto qos = participant_qos(house.setup);
  const auto nothing = fast::StatusMask::none();
  participant_ = made(factory()->create_participant(domain, qos, &house.meetings, nothing), "a participant");
  // Neither of these can fail but for want of memory.
  house_.type.register_type(participant_);
  publisher_ = participant_->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
  subscriber_ = participant_->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
}

Participant::~Participant() {
  participant_->set_listener(nullptr);
  participant_->delete_contained_entities();
  factory()->delete_participant(participant_);
}

fast::Topic* Participant::topic(const std::string& name) {
  const std::lock_guard lock(making_);
  if (auto* known = participant_->find_topic(name, {0, 0})) return known;
  const auto type = house_.type.get_type_name();
  return made(participant_->create_topic(name, type, fast::TOPIC_QOS_DEFAULT), "the topic " + name);
}

fast::DataWriter* Participant::writer(const Link& link) {
  const auto qos = writer_qos(house_.setup);
  return made(publisher_->create_datawriter(topic(link.name), qos), "a writer of " + link.name);
}

fast::DataReader* Participant::reader(const Link& link, fast::DataReaderListener* listener) {
  const auto qos = reader_qos(house_.setup);
  const auto mask = listener ? fast::StatusMask::data_available() : fast::StatusMask::none();
  return made(subscriber_->create_datareader(topic(link.name), qos, listener, mask), "a reader of " + link.name);
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
