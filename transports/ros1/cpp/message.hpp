/// Frames in messages: which field takes what stands in ../README.md.
#pragma once

#include <sensor_msgs/Image.h>
#include <std_msgs/Header.h>

#include <boost/make_shared.hpp>
#include <span>
#include <string>
#include <string_view>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"
#include "modern.hpp"

namespace ros1 {

template <class Message>
using Pointer = boost::shared_ptr<const Message>;

/// Names of ROS begin with a letter, those of links may not.
inline std::string name_of(const hopmeter::Link& link) { return "/hopmeter_" + link.name; }

/// What of a message carries a frame, and the service whose request and response it is. A service of `T it --- T it`
/// has T's own bytes on the wire, so nothing has to be generated for it; the sum is what genmsg computes for that text.
struct Timing {
  using Message = std_msgs::Header_<modern::Allocator>;
  static constexpr const char* service = "hopmeter/CarryTiming";
  static constexpr const char* service_sum = "bb908d64ec19883c9963472f058c5010";
  static auto& header(auto& message) { return message; }
  static std::span<std::byte> payload(Message&, const hopmeter::Setup&, std::size_t bytes) {
    if (bytes != 0) throw hopmeter::Error("std_msgs/Header has no field for a payload", "ask for the payload `bytes`");
    return {};
  }
  static std::span<const std::byte> payload(const Message&) { return {}; }
};

struct Image {
  using Message = sensor_msgs::Image_<modern::Allocator>;
  static constexpr const char* service = "hopmeter/CarryImage";
  static constexpr const char* service_sum = "150372a408e3a9fad49dc89650db9e1d";
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
  fields.stamp.fromNSec(static_cast<std::uint64_t>(hopmeter::sent_of(header)));
  fields.frame_id = std::string_view(hopmeter::label(header));
}

/// Hands over the frame that a message carries.
template <class Carrier>
void read(const Pointer<typename Carrier::Message>& message, const auto& hand_over) {
  const auto payload = Carrier::payload(*message);
  const auto& fields = Carrier::header(*message);
  const auto sent_ns = static_cast<std::int64_t>(fields.stamp.toNSec());
  const auto header = hopmeter::header_of(fields.frame_id, sent_ns, payload.size());
  hand_over(hopmeter::Received(header, payload).with_native(&message));
}

}  // namespace ros1
