/// Stores frames in ROS messages; ../README.md describes the fields.
#pragma once

#include <sensor_msgs/Image.h>
#include <std_msgs/Header.h>

#include <boost/make_shared.hpp>

#include "hopmeter/message.hpp"
#include "modern.hpp"

namespace ros1 {

template <class Message>
using Pointer = boost::shared_ptr<const Message>;

/// The layout of a message, and the service with this message as request and response. A service `T it --- T it` has
/// the same bytes on the wire as T, so the service needs no generated code. genmsg computes `sum` from the service's
/// text.
struct Timing {
  using Message = std_msgs::Header_<modern::Allocator>;
  static constexpr const char* service = "hopmeter/CarryTiming";
  static constexpr const char* service_sum = "bb908d64ec19883c9963472f058c5010";
  static void shape(Message&, const hopmeter::Link&) {}
  static auto& text(auto& message) { return message.frame_id; }
  static void stamp(Message& message, std::uint64_t, std::int64_t sent_ns) {
    message.stamp.fromNSec(static_cast<std::uint64_t>(sent_ns));
  }
  static std::int64_t sent_ns(const Message& message) { return static_cast<std::int64_t>(message.stamp.toNSec()); }
};

struct Image {
  using Message = sensor_msgs::Image_<modern::Allocator>;
  static constexpr const char* service = "hopmeter/CarryImage";
  static constexpr const char* service_sum = "150372a408e3a9fad49dc89650db9e1d";
  static void shape(Message& message, const hopmeter::Link& link) {
    message.height = link.height;
    message.width = link.width;
    message.step = 3 * link.width;
    message.encoding = "rgb8";
  }
  static auto& text(auto& message) { return message.header.frame_id; }
  static auto& octets(auto& message) { return message.data; }
  static void stamp(Message& message, std::uint64_t seq, std::int64_t sent_ns) {
    Timing::stamp(message.header, seq, sent_ns);
  }
  static std::int64_t sent_ns(const Message& message) { return Timing::sent_ns(message.header); }
};

/// Lets `fill` write a frame into a message.
template <class Layout>
void write(typename Layout::Message& message, const hopmeter::Link& link, std::size_t bytes, hopmeter::Fill fill) {
  Layout::shape(message, link);
  hopmeter::write_message<Layout>(message, bytes, fill);
}

/// Passes on a message's frame, with the message's pointer for a later `forward`.
template <class Layout>
void read(const Pointer<typename Layout::Message>& message, const auto& take) {
  hopmeter::hand_over<Layout>(*message, take, &message);
}

}  // namespace ros1
