/// Frames in messages: which field takes what stands in ../README.md.
#pragma once

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

/// std_msgs/Header: a time and a text, and nowhere to put a payload.
struct Timing {
  using Message = std_msgs::msg::Header;
  using Service = hopmeter_ros2::srv::CarryTiming;
  static auto& header(auto& message) { return message; }
  static std::span<std::byte> payload(Message&, const hopmeter::Setup&, std::size_t bytes) {
    if (bytes != 0) throw hopmeter::Error("std_msgs/Header has no field for a payload", "ask for the payload `bytes`");
    return {};
  }
  static std::span<const std::byte> payload(const Message&) { return {}; }
};

/// sensor_msgs/Image. Bytes that are no picture have height and width 0.
struct Image {
  using Message = sensor_msgs::msg::Image;
  using Service = hopmeter_ros2::srv::CarryImage;
  static auto& header(auto& message) { return message.header; }
  static std::span<std::byte> payload(Message& message, const hopmeter::Setup& setup, std::size_t bytes) {
    message.height = setup.height();
    message.width = setup.width();
    message.step = 3 * setup.width();
    message.encoding = "rgb8";
    message.data.resize(bytes);
    return std::as_writable_bytes(std::span(message.data));
  }
  static std::span<const std::byte> payload(const Message& message) { return std::as_bytes(std::span(message.data)); }
};

/// Has a frame written into a message.
template <class Carrier>
void write(typename Carrier::Message& message, const hopmeter::Setup& setup, std::size_t bytes, hopmeter::Fill fill) {
  hopmeter::Header header;
  fill({header, Carrier::payload(message, setup, bytes)});
  auto& fields = Carrier::header(message);
  const auto sent_ns = hopmeter::sent_of(header);
  fields.stamp.sec = static_cast<std::int32_t>(sent_ns / second_ns);
  fields.stamp.nanosec = static_cast<std::uint32_t>(sent_ns % second_ns);
  fields.frame_id = std::string_view(hopmeter::label(header));
}

/// Hands over the frame that a message carries, and with it what a relay can pass on.
template <class Carrier>
void read(const typename Carrier::Message& message, const auto& native, const auto& hand_over) {
  const auto payload = Carrier::payload(message);
  const auto& fields = Carrier::header(message);
  const auto sent_ns = fields.stamp.sec * second_ns + fields.stamp.nanosec;
  const auto header = hopmeter::header_of(fields.frame_id, sent_ns, payload.size());
  hand_over(hopmeter::Received(header, payload).with_native(&native));
}

/// What a frame came in.
template <class Native>
const Native& native_of(const hopmeter::Received& received) {
  const auto* native = received.native<Native>();
  if (!native) throw hopmeter::Error("this frame did not come by ROS 2, so it cannot be moved on");
  return *native;
}

}  // namespace ros2
