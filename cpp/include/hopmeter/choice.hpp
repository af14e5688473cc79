/// An adapter that chooses one of several adapters by its setup; most choose by the type of the message.
#pragma once

#include "hopmeter/bridge.hpp"

namespace hopmeter {

/// Passes every call on to the chosen adapter. A derived class chooses the adapter.
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

/// Chooses an instance of the template `Of<Message>` by the payload: `Timing` for the small message, `Image` for
/// images, and `bytes_as` decides which of the two carries bytes. `Of<Timing>` needs a `version()` that does not depend
/// on the message.
template <template <class> class Of, class Timing, class Image, PayloadKind bytes_as = PayloadKind::timing>
class ChoiceByPayload final : public Choice {
 public:
  explicit ChoiceByPayload(const Setup& setup) : Choice(choose(setup)) {}
  static std::string version() { return Of<Timing>::version(); }

 private:
  static std::unique_ptr<Transport> choose(const Setup& setup) {
    const auto kind = setup.payload() == PayloadKind::bytes ? bytes_as : setup.payload();
    if (kind == PayloadKind::image) return std::make_unique<Of<Image>>(setup);
    return std::make_unique<Of<Timing>>(setup);
  }
};

}  // namespace hopmeter
