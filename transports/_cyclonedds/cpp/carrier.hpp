/// A transport over Cyclone DDS, given its messages.
#pragma once

#include <dds/version.h>

#include "ends.hpp"

namespace cyclone {

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

/// Passes everything to the carrier of the message that the payload asks for: a class derived from it says which.
class Choice : public hopmeter::Transport {
 public:
  explicit Choice(std::unique_ptr<hopmeter::Transport> carrier) : carrier_(std::move(carrier)) {}

  static std::string version() { return "Cyclone DDS " DDS_VERSION; }

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return carrier_->publisher(link);
  }
  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return carrier_->subscriber(link);
  }
  hopmeter::Owned<hopmeter::Subscription> subscribe(const hopmeter::Link& link, hopmeter::OnFrame on_frame) override {
    return carrier_->subscribe(link, std::move(on_frame));
  }
  hopmeter::Owned<hopmeter::Server> server(const hopmeter::Link& link) override { return carrier_->server(link); }
  hopmeter::Owned<hopmeter::Client> client(const hopmeter::Link& link) override { return carrier_->client(link); }
  hopmeter::Facts facts() override { return carrier_->facts(); }

 private:
  std::unique_ptr<hopmeter::Transport> carrier_;
};

}  // namespace cyclone
