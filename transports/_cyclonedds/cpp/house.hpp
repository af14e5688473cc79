/// What all ends of a node share: one domain and one participant.
#pragma once

#include <dds/dds.h>

#include <mutex>
#include <set>

#include "configuration.hpp"
#include "entity.hpp"
#include "hopmeter/contract.hpp"
#include "qos.hpp"

namespace cyclone {

class House {
 public:
  House(const hopmeter::Setup& setup, const Customs& customs);

  Entity topic(const dds_topic_descriptor_t& type, const std::string& name) const;
  Entity writer(dds_entity_t topic, const hopmeter::Link& link, const Qos& qos) const;
  Entity reader(dds_entity_t topic, const hopmeter::Link& link, const Qos& qos,
                const dds_listener_t* listener = nullptr) const;
  Entity waitset() const;

  /// Notes the way of a sample that a reader has got.
  void note(dds_entity_t reader, dds_instance_handle_t writer);
  hopmeter::Facts facts();

  const hopmeter::Setup setup;

 private:
  Entity domain_, participant_;
  std::mutex noting_;
  std::set<std::string> ways_;
};

}  // namespace cyclone
