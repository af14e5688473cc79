/// Topics: a publisher, and subscriptions with a wait set or an executor.
#pragma once

#include <functional>
#include <optional>

#include "executing.hpp"
#include "message.hpp"

namespace ros2 {

template <class Frames>
class Publisher final : public hopmeter::Publisher {
 public:
  using Message = typename Frames::Message;

  Publisher(House& house, const hopmeter::Link& link)
      : house_(house),
        frames_(link),
        how_(house.setup.setting<std::string>("publish")),
        node_(house.node()),
        publisher_(house, [&] { return node_->template create_publisher<Message>(name_of(link), house.qos); }) {
    frames_.prepare(message_);
    if (how_ == "loaned" && !publisher_->can_loan_messages()) house.seen.unlendable = true;
  }

  /// May block in the rmw, because rclcpp never reports a full queue (`busy`).
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (how_ == "loaned") {
      auto loan = publisher_->borrow_loaned_message();
      if (!house_.seen.unlendable) house_.seen.lent = true;
      frames_.prepare(loan.get());
      frames_.write(loan.get(), payload_bytes, fill);
      publisher_->publish(std::move(loan));
    } else if (how_ == "unique") {
      auto message = std::make_unique<Message>();
      frames_.prepare(*message);
      frames_.write(*message, payload_bytes, fill);
      house_.seen.given = message.get();
      publisher_->publish(std::move(message));
    } else {
      frames_.write(message_, payload_bytes, fill);
      publisher_->publish(message_);
    }
    return hopmeter::Sent::accepted;
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    house_.seen.relayed = true;
    publisher_->publish(native_of<Message>(received));
    return hopmeter::Sent::accepted;
  }

 private:
  House& house_;
  Frames frames_;
  std::string how_;
  std::shared_ptr<rclcpp::Node> node_;
  Made<rclcpp::Publisher<Message>> publisher_;
  Message message_;
};

/// A subscription with its node and its callback group.
template <class Frames>
class Topic {
 public:
  using Message = typename Frames::Message;
  using Call = std::function<void(const Message&)>;

  Topic(House& house, const hopmeter::Link& link, bool is_called, Call first)
      : call(std::move(first)),
        room(house, is_called),
        subscription(house, [&] { return subscribed(name_of(link), house.qos); }),
        is_lent(subscription->can_loan_messages()),
        seen_(house.seen) {}

  void arrived(const Message& message, const rclcpp::MessageInfo& info) {
    (info.get_rmw_message_info().from_intra_process ? seen_.by_pointer : seen_.by_rmw) = true;
    if (&message == seen_.given) seen_.uncopied = true;
    if (is_lent && !info.get_rmw_message_info().from_intra_process) seen_.lent = true;
    call(message);
  }

  /// The function that receives messages; for a polled subscription, each poll replaces this function.
  Call call;
  Room room;
  std::shared_ptr<Gate> gate = std::make_shared<Gate>(true);
  Made<rclcpp::Subscription<Message>> subscription;
  /// Whether messages are read in the rmw's memory, without a copy.
  const bool is_lent;

 private:
  std::shared_ptr<rclcpp::Subscription<Message>> subscribed(const std::string& name, const rclcpp::QoS& qos) {
    rclcpp::SubscriptionOptions options;
    options.callback_group = room.group;
    // The callback takes a reference, because a pointer to a loaned message could outlive the loan.
    const auto called = [this, gate = gate](const Message& message, const rclcpp::MessageInfo& info) {
      gate->pass([&] { arrived(message, info); });
    };
    return room.node->template create_subscription<Message>(name, qos, called, options);
  }

  Seen& seen_;
};

template <class Frames>
class Polled final : public hopmeter::Subscriber {
 public:
  Polled(House& house, const hopmeter::Link& link)
      : spins_(link.wait == hopmeter::Wait::spin), frames_(link), topic_(house, link, false, {}), set_(made(house)) {
    set_.add_subscription(topic_.subscription.shared(), {true, false, true});
    if (house.setup.setting<bool>("intra_process")) pointers_ = topic_.subscription->get_intra_process_waitable();
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    taken_ = 0;
    topic_.call = [&](const auto& message) {
      frames_.read(message, message, take);
      ++taken_;
    };
    look();
    if (taken_ == 0 && !spins_ && set_.wait(timeout).kind() == rclcpp::WaitResultKind::Ready) look();
    return taken_;
  }

 private:
  using Message = typename Frames::Message;

  static rclcpp::WaitSet made(const House& house) { return rclcpp::WaitSet({}, {}, {}, {}, {}, {}, house.context); }

  void look() {
    rclcpp::MessageInfo info;
    while (topic_.is_lent ? take_lent(info) : take(info)) continue;
    if (pointers_) run_while_ready(*pointers_);
  }

  bool take(rclcpp::MessageInfo& info) {
    if (!topic_.subscription->take(message_, info)) return false;
    topic_.arrived(message_, info);
    return true;
  }

  /// Takes a loaned message, passes it on, and returns the loan.
  bool take_lent(rclcpp::MessageInfo& info) {
    const auto subscription = topic_.subscription->get_subscription_handle();
    void* lent = nullptr;
    const auto said = rcl_take_loaned_message(subscription.get(), &lent, &info.get_rmw_message_info(), nullptr);
    if (said == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return false;
    if (said != RCL_RET_OK) rclcpp::exceptions::throw_from_rcl_error(said, "cannot take a message that the rmw loans");
    const auto give_back = [&](void* it) { (void)rcl_return_loaned_message_from_subscription(subscription.get(), it); };
    const std::unique_ptr<void, decltype(give_back)> held(lent, give_back);
    topic_.arrived(*static_cast<const Message*>(lent), info);
    return true;
  }

  bool spins_;
  Frames frames_;
  std::size_t taken_ = 0;
  Topic<Frames> topic_;
  /// Receives messages that rclcpp passes within the process. Null if rclcpp's intra-process communication is off.
  std::shared_ptr<rclcpp::Waitable> pointers_;
  rclcpp::WaitSet set_;
  Message message_;
};

template <class Frames>
class Called final : public hopmeter::Subscription {
 public:
  Called(House& house, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : on_frame_(std::move(on_frame)), frames_(link), topic_(house, link, true, [this, &house](const auto& message) {
          house.seen.called_here();
          frames_.read(message, message, on_frame_);
        }) {
    executing_.emplace(house, topic_.room, topic_.gate);
  }

 private:
  hopmeter::OnFrame on_frame_;
  Frames frames_;
  Topic<Frames> topic_;
  std::optional<Executing> executing_;
};

}  // namespace ros2
