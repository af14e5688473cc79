/// An empty transport: sending fills a frame and calls the receiver with the frame. If the receiver runs on the
/// sender's thread, the latency of the empty transport is the part of a hop's latency that the instrument adds. The
/// instrument measures this latency in the same run as the cells whose receivers run on the sender's thread.
#pragma once

#include "hopmeter/bridge.hpp"
#include "hopmeter/callback_slot.hpp"
#include "hopmeter/draft.hpp"

namespace hopmeter::detail {

class Empty final : public Transport {
 public:
  explicit Empty(const Setup&) {}
  static std::string version() { return hopmeter_version(); }

  Owned<Publisher> publisher(const Link&) override { return std::make_unique<Caller>(slot_); }
  Owned<Subscription> subscribe(const Link&, OnFrame on_frame) override {
    return std::make_unique<SlotSubscription<OnFrame>>(slot_, std::move(on_frame));
  }

 private:
  using Slot = CallbackSlot<OnFrame>;

  class Caller final : public Publisher {
   public:
    explicit Caller(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}

    Sent send(std::size_t payload_bytes, Fill fill) override {
      const bool is_called =
          slot_->call([&](const OnFrame& on_frame) { on_frame(Received::split(draft_.write(payload_bytes, fill))); });
      return is_called ? Sent::accepted : Sent::busy;
    }

   private:
    std::shared_ptr<Slot> slot_;
    Draft draft_;
  };

  std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
};

}  // namespace hopmeter::detail
