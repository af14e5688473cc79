#include "house.hpp"

#include <memory>

#include "buffer.hpp"

using hopmeter::Facts;
using hopmeter::Link;
using hopmeter::Setup;

namespace cyclone {
namespace {

Entity domain(const Setup& setup, const Customs& customs) {
  const auto xml = configuration(setup, customs);
  const auto id = domain_of(setup.run());
  return Entity(demand(dds_create_domain(id, xml.c_str()), "open domain " + std::to_string(id),
                       "read its reason in the log of this node"));
}

Entity participant(const Setup& setup) {
  const auto id = domain_of(setup.run());
  return Entity(demand(dds_create_participant(id, nullptr, nullptr),
                       "take part in domain " + std::to_string(id) + " on 127.0.0.1",
                       "see that the loopback device is up and that fewer than 100 processes use this domain"));
}

}  // namespace

House::House(const Setup& setup, const Customs& customs)
    : setup(setup), domain_(domain(setup, customs)), participant_(participant(setup)) {}

Entity House::topic(const dds_topic_descriptor_t& type, const std::string& name) const {
  const auto handle = dds_create_topic(*participant_, &type, name.c_str(), nullptr, nullptr);
  return Entity(demand(handle, "make the topic " + name));
}

Entity House::writer(dds_entity_t topic, const Link& link, const Qos& qos) const {
  return Entity(demand(dds_create_writer(*participant_, topic, qos.get(), nullptr), "make a writer of " + link.name));
}

Entity House::reader(dds_entity_t topic, const Link& link, const Qos& qos, const dds_listener_t* listener) const {
  return Entity(demand(dds_create_reader(*participant_, topic, qos.get(), listener), "make a reader of " + link.name));
}

Entity House::waitset() const { return Entity(demand(dds_create_waitset(*participant_), "make a waitset")); }

void House::note(dds_entity_t reader, dds_instance_handle_t writer) {
  const std::unique_ptr<dds_builtintopic_endpoint_t, decltype(&dds_builtintopic_free_endpoint)> told(
      dds_get_matched_publication_data(reader, writer), &dds_builtintopic_free_endpoint);
  if (!told) return;  // it has left in the meantime
  dds_instance_handle_t ours = 0;
  demand(dds_get_instance_handle(*participant_, &ours), "tell its participant");
  const std::lock_guard lock(noting_);
  ways_.insert(told->participant_instance_handle == ours ? "within the process" : "UDP on the loopback device");
}

Facts House::facts() {
  auto facts = buffer_facts(setup);
  facts.emplace_back("domain", std::to_string(domain_of(setup.run())));
  facts.emplace_back("interface", "lo, 127.0.0.1");
  facts.emplace_back("shared_memory", "not used");
  const std::lock_guard lock(noting_);
  std::string path;
  for (const auto& way : ways_) path += (path.empty() ? "" : ", ") + way;
  if (!path.empty()) facts.emplace_back("path", path);
  return facts;
}

}  // namespace cyclone
