/// Stores frames in messages; ../README.md describes the fields.
#pragma once

#include <algorithm>
#include <hopmeter_ros2/msg/plain1_k.hpp>
#include <hopmeter_ros2/msg/plain1_m.hpp>
#include <hopmeter_ros2/msg/plain64_k.hpp>
#include <hopmeter_ros2/msg/plain8_m.hpp>
#include <hopmeter_ros2/srv/carry_image.hpp>
#include <hopmeter_ros2/srv/carry_timing.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <span>
#include <std_msgs/msg/header.hpp>
#include <string_view>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

namespace ros2 {

constexpr std::int64_t second_ns = 1'000'000'000;

/// std_msgs/Header: a timestamp and a frame id. The message has no payload field.
struct Timing {
  using Message = std_msgs::msg::Header;
  using Service = hopmeter_ros2::srv::CarryTiming;
  static auto& stamp(auto& message) { return message.stamp; }
  static auto& text(auto& message) { return message.frame_id; }
  static std::span<std::byte> payload(Message&, const hopmeter::Link&, std::size_t bytes) {
    if (bytes != 0)
      throw hopmeter::Error("std_msgs/Header has no field for a payload of " + std::to_string(bytes) + " bytes",
                            "use the payload `bytes`, or a payload `timing` without padding");
    return {};
  }
  static std::span<const std::byte> payload(const Message&) { return {}; }
};

/// A sensor_msgs/Image, whose height and width are 0 if the bytes are not an image.
struct Image {
  using Message = sensor_msgs::msg::Image;
  using Service = hopmeter_ros2::srv::CarryImage;
  static auto& stamp(auto& message) { return message.header.stamp; }
  static auto& text(auto& message) { return message.header.frame_id; }
  static std::span<std::byte> payload(Message& message, const hopmeter::Link& link, std::size_t bytes) {
    message.height = link.height;
    message.width = link.width;
    message.step = 3 * link.width;
    message.encoding = "rgb8";
    message.data.resize(bytes);
    return std::as_writable_bytes(std::span(message.data));
  }
  static std::span<const std::byte> payload(const Message& message) { return std::as_bytes(std::span(message.data)); }
};

/// A message of this adapter that has a fixed size, so that an rmw can loan it.
template <class Shape>
struct Plain {
  using Message = Shape;
  using Service = void;
  static constexpr std::size_t room = std::tuple_size_v<decltype(Message::data)>;
  static auto& stamp(auto& message) { return message.stamp; }
  static auto& text(auto& message) { return message.label; }
  static std::span<std::byte> payload(Message& message, const hopmeter::Link&, std::size_t bytes) {
    message.length = static_cast<std::uint32_t>(bytes);
    return std::as_writable_bytes(std::span(message.data)).first(bytes);
  }
  /// If a corrupt length exceeds the field, the instrument detects the mismatch with the frame's header.
  static std::span<const std::byte> payload(const Message& message) {
    return std::as_bytes(std::span(message.data)).first(std::min<std::size_t>(message.length, room));
  }
};

/// Calls `make` with the smallest plain message type that has room for the payload. Returns the result of `make`.
auto of_plain(std::size_t payload_bytes, const auto& make) {
  namespace msg = hopmeter_ros2::msg;
  if (payload_bytes <= Plain<msg::Plain1K>::room) return make(Plain<msg::Plain1K>());
  if (payload_bytes <= Plain<msg::Plain64K>::room) return make(Plain<msg::Plain64K>());
  if (payload_bytes <= Plain<msg::Plain1M>::room) return make(Plain<msg::Plain1M>());
  if (payload_bytes <= Plain<msg::Plain8M>::room) return make(Plain<msg::Plain8M>());
  throw hopmeter::Error(
      "plain messages hold up to 8 MiB, but the payload has " + std::to_string(payload_bytes) + " bytes",
      "set message = standard, or measure smaller payloads");
}

/// Writes the time and the label of a header into a message's fields.
inline void write_header(const hopmeter::Header& header, auto& stamp, auto& text) {
  const auto sent_ns = hopmeter::sent_of(header);
  stamp.sec = static_cast<std::int32_t>(sent_ns / second_ns);
  stamp.nanosec = static_cast<std::uint32_t>(sent_ns % second_ns);
  const auto label = hopmeter::label(header);
  if constexpr (requires { text.resize(label.size()); }) text.resize(label.size());
  std::ranges::copy(label, text.begin());
}

/// Restores a header from the time and the label in a message's fields.
inline hopmeter::Header read_header(const auto& stamp, std::span<const std::byte> text, std::size_t payload_bytes) {
  const std::string_view label(reinterpret_cast<const char*>(text.data()), text.size());
  return hopmeter::header_of(label, stamp.sec * second_ns + stamp.nanosec, payload_bytes);
}

/// The frames of a link in a carrier's messages: those of ROS 2, or those of this adapter.
template <class Carrier>
class Frames {
 public:
  using Message = typename Carrier::Message;
  using Service = typename Carrier::Service;

  explicit Frames(const hopmeter::Link& link) : link_(link) {}

  /// Returns the message in a request or a response.
  static auto& message_in(auto& part) { return part.it; }

  /// Prepares a new message for the frames that will be written into it.
  void prepare(Message&) const {}

  /// Lets `fill` write a frame into a message.
  void write(Message& message, std::size_t bytes, hopmeter::Fill fill) const {
    hopmeter::Header header;
    fill({header, Carrier::payload(message, link_, bytes)});
    write_header(header, Carrier::stamp(message), Carrier::text(message));
  }

  /// Passes on a message's frame, with the native message for a later `forward`.
  void read(const Message& message, const auto& native, const auto& hand_over) const {
    const auto payload = Carrier::payload(message);
    const auto text = std::as_bytes(std::span(Carrier::text(message)));
    const auto header = read_header(Carrier::stamp(message), text, payload.size());
    hand_over(hopmeter::Received(header, payload).with_native(&native));
  }

 private:
  hopmeter::Link link_;
};

/// Returns the native message of a frame.
template <class Native>
const Native& native_of(const hopmeter::Received& received) {
  const auto* native = received.native<Native>();
  if (!native) throw hopmeter::Error("this frame did not arrive through ROS 2, so it cannot be forwarded by reference");
  return *native;
}

}  // namespace ros2
