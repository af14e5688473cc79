/// An adapter that picks another by its setup, such as by the message that the payload asks for.
#pragma once

#include "hopmeter/bridge.hpp"

namespace hopmeter {

/// Passes everything to the one that was picked: a class that derives from it says which.
class Choice : public Transport {
 public:
  Owned<Publisher> publisher(const Link& link) override { return picked_->publisher(link); }
  Owned<Subscriber> subscriber(const Link& link) override { return picked_->subscriber(link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return picked_->subscribe(link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return picked_->server(link); }
  Owned<Client> client(const Link& link) override { return picked_->client(link); }
  Facts facts() override { return picked_->facts(); }

 protected:
  explicit Choice(std::unique_ptr<Transport> picked) : picked_(std::move(picked)) {}

 private:
  std::unique_ptr<Transport> picked_;
};

}  // namespace hopmeter
