/// An adapter that is one of several, by its setup: most have one for each type of message.
#pragma once

#include "hopmeter/bridge.hpp"

namespace hopmeter {

/// Passes everything on to the chosen adapter. A class that derives from it chooses.
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

/// A template of adapters, `Of<Message>`, as the adapter for the payload: the small message in `Timing`, images in
/// `Image`, and bytes as one of both. It needs a `version()` that does not depend on the message.
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
