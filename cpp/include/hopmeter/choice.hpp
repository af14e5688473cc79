/// Choices that an adapter makes at run time: its library, according to the setup, and a message type, according to a
/// link's payload.
#pragma once

#include <type_traits>

#include "hopmeter/bridge.hpp"

namespace hopmeter {

/// Forwards every call to a transport that the derived class chooses.
class Choice : public Transport {
 public:
  Owned<Publisher> publisher(const Link& link) override { return chosen_->publisher(link); }
  Owned<Subscriber> subscriber(const Link& link) override { return chosen_->subscriber(link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return chosen_->subscribe(link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return chosen_->server(link); }
  Owned<Client> client(const Link& link) override { return chosen_->client(link); }
  Facts facts() override { return chosen_->facts(); }

 protected:
  explicit Choice(std::unique_ptr<Transport> chosen) : chosen_(std::move(chosen)) {}

 private:
  std::unique_ptr<Transport> chosen_;
};

/// The message types of an adapter with typed carriage: `Timing` for the small message, `Image` for images. `bytes_as`
/// selects the message type for byte payloads.
template <class Timing, class Image, PayloadKind bytes_as = PayloadKind::timing>
struct MessageTypes {
  /// Calls `open` with the message type for the link's payload, as a `std::type_identity`, and returns the result.
  static auto choose(const Link& link, auto&& open) {
    const auto kind = link.payload == PayloadKind::bytes ? bytes_as : link.payload;
    if (kind == PayloadKind::image) return open(std::type_identity<Image>());
    return open(std::type_identity<Timing>());
  }
};

}  // namespace hopmeter
