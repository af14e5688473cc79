/// Topics: a publisher, and subscribers that are polled or called.
#pragma once

#include <functional>
#include <optional>

#include "house.hpp"
#include "message.hpp"

namespace ros1 {

template <class Carrier>
class Publisher final : public hopmeter::Publisher {
 public:
  using Message = typename Carrier::Message;

  Publisher(House& house, const hopmeter::Link& link)
      : setup_(house.setup),
        by_pointer_(setup_.setting<std::string>("publish") == "pointer"),
        publisher_(house.node.advertise<Message>(name_of(link), setup_.setting<std::uint32_t>("queue"))) {}

  /// roscpp takes everything; what is too much for its queues it drops.
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (!by_pointer_) {
      write<Carrier>(message_, setup_, payload_bytes, fill);
      publisher_.publish(message_);
    } else {
      // Subscribers may hold it as long as they like: it is never written again.
      const auto message = boost::make_shared<Message>();
      write<Carrier>(*message, setup_, payload_bytes, fill);
      publisher_.publish(message);
    }
    return hopmeter::Sent::accepted;
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* message = received.native<Pointer<Message>>();
    if (!message) throw hopmeter::Error("this frame did not come by ROS 1, so it cannot be moved on");
    by_pointer_ ? publisher_.publish(*message) : publisher_.publish(**message);
    return hopmeter::Sent::accepted;
  }

 private:
  hopmeter::Setup setup_;
  bool by_pointer_;
  ros::Publisher publisher_;
  Message message_;
};

/// A subscriber with a callback queue of its own.
template <class Carrier>
class Topic {
 public:
  using Message = typename Carrier::Message;
  using Call = std::function<void(const Pointer<Message>&)>;

  Topic(House& house, const hopmeter::Link& link) : arrivals(house), seen_(house.seen) {
    ros::SubscribeOptions options;
    const auto& setup = house.setup;
    options.initByFullCallbackType<const Event&>(name_of(link), setup.setting<std::uint32_t>("queue"),
                                                 [this](const Event& event) { arrived(event); });
    options.callback_queue = arrivals.queue();
    options.transport_hints.tcpNoDelay(setup.setting<bool>("nodelay"));
    subscriber_ = house.node.subscribe(options);
  }

  /// Set before anything is called, by the thread that calls or by the one that starts it.
  Call call;
  Arrivals arrivals;

 private:
  using Event = ros::MessageEvent<const Message>;

  void arrived(const Event& event) {
    if (!noted_) (event.getPublisherName() == ros::this_node::getName() ? seen_.here : seen_.elsewhere) = true;
    noted_ = true;
    call(event.getConstMessage());
  }

  Seen& seen_;
  bool noted_ = false;
  ros::Subscriber subscriber_;
};

template <class Carrier>
class Polled final : public hopmeter::Subscriber {
 public:
  Polled(House& house, const hopmeter::Link& link) : topic_(house, link) {}

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    std::size_t taken = 0;
    topic_.call = [&](const auto& message) {
      read<Carrier>(message, take);
      ++taken;
    };
    topic_.arrivals.call(timeout);
    return taken;
  }

 private:
  Topic<Carrier> topic_;
};

template <class Carrier>
class Called final : public hopmeter::Subscription {
 public:
  Called(House& house, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : on_frame_(std::move(on_frame)), topic_(house, link) {
    topic_.call = [this](const auto& message) { read<Carrier>(message, on_frame_); };
    spinning_.emplace(topic_.arrivals.queue());
  }

 private:
  hopmeter::OnFrame on_frame_;
  Topic<Carrier> topic_;
  std::optional<Spinning> spinning_;
};

}  // namespace ros1
