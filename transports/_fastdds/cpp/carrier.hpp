/// A transport over Fast DDS, given its messages.
#pragma once

#include <fastrtps/config.h>

#include "ends.hpp"

namespace fastdds {

inline std::string version() { return "Fast DDS " FASTRTPS_VERSION_STR; }

/// The adapter for one message type. All ends that are polled, and all writers, share a participant.
template <class Message>
class Carrier : public hopmeter::Transport {
 public:
  Carrier(const hopmeter::Setup& setup, const Customs& customs) : house_(setup, customs), participant_(house_) {}

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return std::make_unique<Writer<Message>>(house_, participant_, link);
  }
  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return std::make_unique<Reader<Message>>(house_, participant_, link);
  }
  hopmeter::Owned<hopmeter::Subscription> subscribe(const hopmeter::Link& link, hopmeter::OnFrame on_frame) override {
    auto look = [inbox = Inbox<Message>(), on_frame = std::move(on_frame)](fast::DataReader& reader) mutable {
      return inbox.take(reader, on_frame);
    };
    const auto qos = reader_qos(house_.setup, house_.customs);
    const auto topic = place<Message>(Message::topic(link.name));
    if (link.name.ends_with("_request")) return served(participant_, topic, qos, std::move(look));
    return called(house_, topic, qos, std::move(look));
  }
  hopmeter::Facts facts() override {
    auto facts = house_.meetings.facts();
    facts.emplace_back("loan", Plain<Message> ? "in the writer's history" : "none, samples are serialised");
    return facts;
  }

 protected:
  House house_;
  Participant participant_;
};

}  // namespace fastdds
