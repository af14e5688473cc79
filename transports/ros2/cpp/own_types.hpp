/// Messages of the user's own type: as objects that the rmw encodes, or as octets that are already encoded.
/// ../README.md describes where a frame's header is stored. This code is compiled into the library of a type (type/).
#pragma once

#include <cstring>
#include <rclcpp/serialized_message.hpp>

#include "own_messages.hpp"
#include "services.hpp"
#include "topics.hpp"
#include "type_ends.hpp"

namespace ros2 {

/// Frames for messages of unlimited size: the encoded message, followed by the frame's header. The last octet is the
/// number of octets after the header, including itself.
struct AfterOctets {
  static constexpr std::size_t word = 4;

  static void write(rclcpp::SerializedMessage& message, std::size_t bytes, hopmeter::Fill fill) {
    const auto more = word - bytes % word, end = bytes + hopmeter::header_bytes;
    message.reserve(end + more);
    message.get_rcl_serialized_message().buffer_length = end + more;
    const auto octets = octets_of(message);
    octets.back() = static_cast<std::byte>(more);
    fill({octets.subspan(bytes).template first<hopmeter::header_bytes>(), octets.first(bytes)});
  }

  static void read(const rclcpp::SerializedMessage& message, const auto& hand_over) {
    const std::span<const std::byte> octets = octets_of(message);
    const auto more = octets.empty() ? 0 : static_cast<std::size_t>(octets.back());
    if (octets.size() < hopmeter::header_bytes + more) return hand_over(hopmeter::Received(hopmeter::Header{}, {}));
    const auto bytes = octets.size() - more - hopmeter::header_bytes;
    const auto header = octets.subspan(bytes).template first<hopmeter::header_bytes>();
    hand_over(hopmeter::Received(header, octets.first(bytes)).with_native(&message));
  }
};

/// Frames for messages of bounded size, in a wrapper message: the frame's header, followed by the message.
struct FramedOctets {
  static constexpr std::size_t word = 4, stamp_at = word, label_at = stamp_at + 8, size_at = label_at + 56,
                               payload_at = size_at + word;

  static void write(rclcpp::SerializedMessage& message, std::size_t bytes, hopmeter::Fill fill) {
    message.reserve(payload_at + bytes);
    message.get_rcl_serialized_message().buffer_length = payload_at + bytes;
    const auto octets = octets_of(message);
    hopmeter::Header header;
    fill({header, octets.subspan(payload_at)});
    // Copies the encapsulation header, which is the same for both messages.
    std::memcpy(octets.data(), octets.data() + payload_at, word);
    const auto sent_ns = hopmeter::sent_of(header);
    put(octets, stamp_at, static_cast<std::uint32_t>(sent_ns / second_ns));
    put(octets, stamp_at + word, static_cast<std::uint32_t>(sent_ns % second_ns));
    const auto label = hopmeter::label(header);
    std::memcpy(octets.data() + label_at, label.data(), label.size());
    put(octets, size_at, static_cast<std::uint32_t>(bytes));
  }

  static void read(const rclcpp::SerializedMessage& message, const auto& hand_over) {
    const std::span<const std::byte> octets = octets_of(message);
    const auto room = octets.size() < payload_at ? 0 : octets.size() - payload_at;
    const auto bytes = room == 0 ? 0 : get(octets, size_at);
    if (room == 0 || bytes > room) return hand_over(hopmeter::Received(hopmeter::Header{}, {}));
    const auto sent_ns = get(octets, stamp_at) * second_ns + get(octets, stamp_at + word);
    const auto label = octets.subspan(label_at, hopmeter::label_bytes);
    const auto header =
        hopmeter::header_of({reinterpret_cast<const char*>(label.data()), label.size()}, sent_ns, bytes);
    hand_over(hopmeter::Received(header, octets.subspan(payload_at, bytes)).with_native(&message));
  }

 private:
  static bool is_little(std::span<const std::byte> octets) { return (octets[1] & std::byte{1}) != std::byte{0}; }

  static std::size_t place(std::span<const std::byte> octets, std::size_t at, std::size_t digit) {
    return at + (is_little(octets) ? digit : word - 1 - digit);
  }

  static void put(std::span<std::byte> octets, std::size_t at, std::uint32_t number) {
    for (std::size_t digit = 0; digit < word; ++digit)
      octets[place(octets, at, digit)] = static_cast<std::byte>(number >> 8 * digit);
  }

  static std::uint32_t get(std::span<const std::byte> octets, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t digit = 0; digit < word; ++digit)
      number |= std::to_integer<std::uint32_t>(octets[place(octets, at, digit)]) << 8 * digit;
    return number;
  }
};

/// A publisher of octets. A relay forwards the received octets.
template <class Message, class Octets>
class OctetsPublisher final : public hopmeter::Publisher {
 public:
  OctetsPublisher(House& house, const hopmeter::Link& link)
      : house_(house),
        node_(house.node()),
        publisher_(house, [&] { return node_->template create_publisher<Message>(name_of(link), house.qos); }) {}

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    Octets::write(octets_, payload_bytes, fill);
    publisher_->publish(octets_);
    return hopmeter::Sent::accepted;
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    house_.seen.relayed = true;
    publisher_->publish(native_of<rclcpp::SerializedMessage>(received));
    return hopmeter::Sent::accepted;
  }

 private:
  House& house_;
  std::shared_ptr<rclcpp::Node> node_;
  Made<rclcpp::Publisher<Message>> publisher_;
  rclcpp::SerializedMessage octets_;
};

/// A subscription that receives octets, with its node and its callback group.
template <class Message>
class OctetsTopic {
 public:
  using Call = std::function<void(const rclcpp::SerializedMessage&)>;

  OctetsTopic(House& house, const hopmeter::Link& link, bool is_called, Call first)
      : call(std::move(first)), room(house, is_called), subscription(house, [&] {
          rclcpp::SubscriptionOptions options;
          options.callback_group = room.group;
          const auto called = [this, gate = gate](std::shared_ptr<const rclcpp::SerializedMessage> octets) {
            gate->pass([&] { call(*octets); });
          };
          return room.node->template create_subscription<Message>(name_of(link), house.qos, called, options);
        }) {
    house.seen.by_rmw = true;
  }

  Call call;
  Room room;
  std::shared_ptr<Gate> gate = std::make_shared<Gate>(true);
  Made<rclcpp::Subscription<Message>> subscription;
};

template <class Message, class Octets>
class OctetsPolled final : public hopmeter::Subscriber {
 public:
  OctetsPolled(House& house, const hopmeter::Link& link)
      : spins_(link.wait == hopmeter::Wait::spin),
        topic_(house, link, false, {}),
        set_(rclcpp::WaitSet({}, {}, {}, {}, {}, {}, house.context)) {
    set_.add_subscription(topic_.subscription.shared(), {true, false, false});
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto taken = look(take);
    if (taken != 0 || spins_) return taken;
    return set_.wait(timeout).kind() == rclcpp::WaitResultKind::Ready ? look(take) : 0;
  }

 private:
  std::size_t look(const hopmeter::Take& take) {
    std::size_t taken = 0;
    rclcpp::MessageInfo info;
    for (; topic_.subscription->take_serialized(octets_, info); ++taken) Octets::read(octets_, take);
    return taken;
  }

  bool spins_;
  OctetsTopic<Message> topic_;
  rclcpp::WaitSet set_;
  rclcpp::SerializedMessage octets_;
};

template <class Message, class Octets>
class OctetsCalled final : public hopmeter::Subscription {
 public:
  OctetsCalled(House& house, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : on_frame_(std::move(on_frame)), topic_(house, link, true, [this, &house](const auto& octets) {
          house.seen.called_here();
          Octets::read(octets, on_frame_);
        }) {
    executing_.emplace(house, topic_.room, topic_.gate);
  }

 private:
  hopmeter::OnFrame on_frame_;
  OctetsTopic<Message> topic_;
  std::optional<Executing> executing_;
};

/// Opens the link ends of a type.
template <class Type, class Framed, class Call, bool has_header, bool is_bounded>
class TypeEndsOf final : public TypeEnds {
  using Own = OwnFrames<Type, Framed, Call, has_header>;
  using Octets = std::conditional_t<is_bounded, FramedOctets, AfterOctets>;
  using OctetsType = std::conditional_t<is_bounded, Framed, Type>;

 public:
  std::unique_ptr<hopmeter::Publisher> publisher(House& house, const hopmeter::Link& link) const override {
    return open<hopmeter::Publisher, Publisher<Own>, OctetsPublisher<OctetsType, Octets>>(house, link);
  }
  std::unique_ptr<hopmeter::Subscriber> subscriber(House& house, const hopmeter::Link& link) const override {
    return open<hopmeter::Subscriber, Polled<Own>, OctetsPolled<OctetsType, Octets>>(house, link);
  }
  std::unique_ptr<hopmeter::Subscription> subscribe(House& house, const hopmeter::Link& link,
                                                    hopmeter::OnFrame on_frame) const override {
    return open<hopmeter::Subscription, Called<Own>, OctetsCalled<OctetsType, Octets>>(house, link,
                                                                                       std::move(on_frame));
  }
  std::unique_ptr<hopmeter::Server> server(House& house, const hopmeter::Link& link) const override {
    return std::make_unique<Server<Own>>(house, link);
  }
  std::unique_ptr<hopmeter::Client> client(House& house, const hopmeter::Link& link) const override {
    return std::make_unique<Client<Own>>(house, link);
  }

 private:
  template <class End, class OfObjects, class OfOctets>
  static std::unique_ptr<End> open(House& house, const hopmeter::Link& link, auto&&... more) {
    if (link.message_object.empty())
      return std::make_unique<OfOctets>(house, link, std::forward<decltype(more)>(more)...);
    return std::make_unique<OfObjects>(house, link, std::forward<decltype(more)>(more)...);
  }
};

}  // namespace ros2
