/// Topics: a publisher, and subscribers with polling or callbacks.
#pragma once

#include <functional>
#include <optional>

#include "message.hpp"
#include "session.hpp"

namespace ros1 {

template <class Layout>
class Publisher final : public hopmeter::Publisher {
 public:
  using Message = typename Layout::Message;

  Publisher(Session& session, const hopmeter::Link& link)
      : link_(link),
        by_pointer_(session.setup.setting<std::string>("publish") == "pointer"),
        publisher_(session.node.advertise<Message>(name_of(link), session.setup.setting<std::uint32_t>("queue"))) {}

  /// roscpp accepts every message, and drops those that do not fit into its queues.
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (!by_pointer_) {
      write<Layout>(message_, link_, payload_bytes, fill);
      publisher_.publish(message_);
    } else {
      // Subscribers may hold a message for any length of time, so the memory of a message is never reused.
      const auto message = boost::make_shared<Message>();
      write<Layout>(*message, link_, payload_bytes, fill);
      publisher_.publish(message);
    }
    return hopmeter::Sent::accepted;
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto& message = received.require_native<Pointer<Message>>("ROS 1");
    by_pointer_ ? publisher_.publish(message) : publisher_.publish(*message);
    return hopmeter::Sent::accepted;
  }

 private:
  hopmeter::Link link_;
  bool by_pointer_;
  ros::Publisher publisher_;
  Message message_;
};

/// A subscriber with its own callback queue.
template <class Layout>
class Topic {
 public:
  using Message = typename Layout::Message;

  Topic(Session& session, const hopmeter::Link& link) : queue(link), session_(session) {
    ros::SubscribeOptions options;
    const auto& setup = session.setup;
    options.initByFullCallbackType<const Event&>(name_of(link), setup.setting<std::uint32_t>("queue"),
                                                 [this](const Event& event) { receive(event); });
    options.callback_queue = queue.get();
    options.transport_hints.tcpNoDelay(setup.setting<bool>("nodelay"));
    subscriber_ = session.node.subscribe(options);
  }

  /// The callback thread, or the thread that starts the callback thread, sets this function before the first call.
  std::function<void(const Pointer<Message>&)> call;
  PolledQueue queue;

 private:
  using Event = ros::MessageEvent<const Message>;

  void receive(const Event& event) {
    if (!std::exchange(knows_publisher_, true)) {
      const bool is_here = event.getPublisherName() == ros::this_node::getName();
      (is_here ? session_.receives_from_here : session_.receives_from_elsewhere) = true;
    }
    call(event.getConstMessage());
  }

  Session& session_;
  bool knows_publisher_ = false;
  ros::Subscriber subscriber_;
};

template <class Layout>
class PolledSubscriber final : public hopmeter::Subscriber {
 public:
  PolledSubscriber(Session& session, const hopmeter::Link& link) : topic_(session, link) {}

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    std::size_t frames = 0;
    topic_.call = [&](const auto& message) {
      read<Layout>(message, take);
      ++frames;
    };
    topic_.queue.call(timeout);
    return frames;
  }

 private:
  Topic<Layout> topic_;
};

template <class Layout>
class CalledSubscriber final : public hopmeter::Subscription {
 public:
  CalledSubscriber(Session& session, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : on_frame_(std::move(on_frame)), topic_(session, link) {
    topic_.call = [this](const auto& message) { read<Layout>(message, on_frame_); };
    thread_.emplace(topic_.queue.get());
  }

 private:
  hopmeter::OnFrame on_frame_;
  Topic<Layout> topic_;
  std::optional<SpinnerThread> thread_;
};

}  // namespace ros1
