/// A transport over Cyclone DDS, given its messages.
#pragma once

#include <dds/version.h>

#include "ends.hpp"

namespace cyclone {

inline std::string version() { return "Cyclone DDS " DDS_VERSION; }

/// The adapter for one message type.
template <class Message>
class Carrier : public hopmeter::Transport {
 public:
  Carrier(const hopmeter::Setup& setup, const Customs& customs) : house_(setup, customs) {}

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return std::make_unique<Writer<Message>>(house_, link);
  }
  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return std::make_unique<Reader<Message>>(house_, link);
  }
  hopmeter::Owned<hopmeter::Subscription> subscribe(const hopmeter::Link& link, hopmeter::OnFrame on_frame) override {
    return std::make_unique<Listener<Message>>(house_, link, std::move(on_frame));
  }
  hopmeter::Facts facts() override { return house_.facts(); }

 protected:
  House house_;
};

}  // namespace cyclone
