/// Publish-subscribe: a subscriber gives its publisher a capability, which the publisher calls for each message.
#pragma once

#include <chrono>
#include <list>
#include <optional>

#include "hopmeter/callback_slot.hpp"
#include "hopmeter/mailbox.hpp"
#include "network.hpp"
#include "window.hpp"

/// A publisher on the event loop.
class TopicState {
 public:
  TopicState(EventLoop& loop, const hopmeter::Setup& setup, const hopmeter::Link& link)
      : window(loop), listener_(loop, setup, link, kj::heap<Offer>(*this)) {}

  std::string address() const { return listener_.address(); }

  /// Calls every receiver with the frame. The next frame waits until the flow control of all receivers allows it.
  void deliver(std::vector<std::byte> frame) {
    sent_ = sent_.then([this, frame = kj::mv(frame)] { return call_all(frame); }).eagerlyEvaluate(nullptr);
  }

  Window window;

 private:
  struct Subscriber {
    Receiver::Client client;
    bool is_gone = false;
  };

  class Offer final : public Topic::Server {
   public:
    explicit Offer(TopicState& state) : state_(state) {}
    kj::Promise<void> subscribe(SubscribeContext context) override {
      state_.subscribers_.push_back({context.getParams().getReceiver()});
      return kj::READY_NOW;
    }

   private:
    TopicState& state_;
  };

  kj::Promise<void> call_all(const std::vector<std::byte>& frame) {
    kj::Vector<kj::Promise<void>> calls;
    for (auto& subscriber : subscribers_) {
      auto request = subscriber.client.deliverRequest();
      request.setFrame(data_of(frame));
      calls.add(request.send().catch_([&subscriber](kj::Exception&&) { subscriber.is_gone = true; }));
    }
    return kj::joinPromises(calls.releaseAsArray()).then([this] {
      subscribers_.remove_if([](const Subscriber& subscriber) { return subscriber.is_gone; });
      window.leave();
    });
  }

  std::list<Subscriber> subscribers_;
  Listener listener_;
  kj::Promise<void> sent_ = kj::READY_NOW;
};

class TopicPublisher final : public hopmeter::Publisher {
 public:
  TopicPublisher(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : state_(EventLoop::of_endpoint(), setup, link), address_(state_->address()) {}

  /// Waits up to 100 ms for the queued frames to be sent.
  ~TopicPublisher() override {
    constexpr int pauses = 100;
    constexpr std::chrono::milliseconds pause{1};
    for (int tries = 0; tries < pauses && !state_->window.is_empty(); ++tries) std::this_thread::sleep_for(pause);
  }

  std::string address() const override { return address_; }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    const bool is_here = state_.loop().is_here();
    if (!is_here && !state_->window.has_room()) return hopmeter::Sent::busy;
    std::vector<std::byte> frame(hopmeter::header_bytes + payload_bytes);
    state_->window.enter();
    fill(frame);
    state_.loop().call([&state = *state_, frame = kj::mv(frame)]() mutable { state.deliver(kj::mv(frame)); });
    if (is_here) state_.loop().wait_after_callback(state_->window.room());
    return hopmeter::Sent::accepted;
  }

 private:
  Hosted<TopicState> state_;
  std::string address_;
};

using FrameSlot = std::shared_ptr<hopmeter::CallbackSlot<hopmeter::OnFrame>>;
/// An empty item means that no frame arrived in time; a malformed message may contain an empty frame.
using FrameQueue = hopmeter::Mailbox<std::optional<std::vector<std::byte>>>;

/// A subscriber on the event loop. `Target` receives the frames: a slot with a callback, or a queue for the endpoint's
/// thread.
template <class Target>
class SubscriberState {
 public:
  SubscriberState(EventLoop& loop, const hopmeter::Setup& setup, const hopmeter::Link& link, const Target& target)
      : window(loop), loop_(loop), target_(target), remote_(loop, setup, link) {}

  kj::Promise<void> subscribe() {
    return remote_.connect([this](capnp::Capability::Client topic) {
      auto request = topic.castAs<Topic>().subscribeRequest();
      request.setReceiver(kj::heap<Delivery>(*this));
      subscribed_ = request.send().ignoreResult().eagerlyEvaluate([](kj::Exception&&) {});
    });
  }

  Window window;

 private:
  class Delivery final : public Receiver::Server {
   public:
    explicit Delivery(SubscriberState& state) : state_(state) {}
    /// Returns when there is room for the next frame; the publisher may then send more.
    kj::Promise<void> deliver(DeliverContext context) override { return state_.take(context.getParams().getFrame()); }

   private:
    SubscriberState& state_;
  };

  kj::Promise<void> take(capnp::Data::Reader frame) {
    if constexpr (std::same_as<Target, FrameSlot>) {
      target_->call([&](const auto& on_frame) { on_frame(hopmeter::Received::split(bytes_of(frame))); });
      return loop_.finish_sends();
    } else {
      window.enter();
      target_->push(copy_of(frame));
      return window.room();
    }
  }

  EventLoop& loop_;
  Target target_;
  Remote remote_;
  kj::Promise<void> subscribed_ = kj::READY_NOW;
};

/// A subscriber that is polled.
class TopicSubscriber final : public hopmeter::Subscriber {
 public:
  TopicSubscriber(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : state_(EventLoop::of_endpoint(), setup, link, &frames_) {
    state_.loop().wait_for([this] { return state_->subscribe(); });
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto frame = frames_.pop(timeout);
    if (!frame) return 0;
    state_->window.leave();
    take(hopmeter::Received::split(*frame));
    return 1;
  }

 private:
  /// The mailbox's initial capacity in frames.
  static constexpr std::size_t usual_frames = 64;

  FrameQueue frames_{usual_frames};
  Hosted<SubscriberState<FrameQueue*>> state_;
};

class TopicSubscription final : public hopmeter::Subscription {
 public:
  TopicSubscription(const hopmeter::Setup& setup, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : callback_(slot_, std::move(on_frame)), state_(EventLoop::of_endpoint(), setup, link, slot_) {
    state_.loop().wait_for([this] { return state_->subscribe(); });
  }
  /// Waits for a running callback, and destroys the callback on this thread.
  ~TopicSubscription() override { slot_->clear(); }

 private:
  FrameSlot slot_ = std::make_shared<hopmeter::CallbackSlot<hopmeter::OnFrame>>();
  hopmeter::SlotSubscription<hopmeter::OnFrame> callback_;
  Hosted<SubscriberState<FrameSlot>> state_;
};
