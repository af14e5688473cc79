/// The messages of ../../idl, and where a frame is in them; ../../README.md has the table.
#pragma once

#include "../../../_fastdds/cpp/message.hpp"

#include "fast/hopmeter_ros2PubSubTypes.h"
#include "fast/sensor_msgsPubSubTypes.h"
#include "fast/std_msgsPubSubTypes.h"
#include "wire.hpp"

namespace wire::by_fastdds {

/// std_msgs/Header: a time and a text, and nowhere to put a payload.
struct Timing {
  using Support = std_msgs::msg::dds_::Header_PubSubType;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(auto&, const hopmeter::Setup&) {}
  static auto& text(auto& sample) { return sample.frame_id(); }
  static void stamp(auto& sample, std::uint64_t, std::int64_t sent_ns) { fastdds::set_time(sample.stamp(), sent_ns); }
  static std::int64_t sent_ns(const auto& sample) { return fastdds::nanoseconds(sample.stamp()); }
};

/// sensor_msgs/Image. Bytes that are no picture have height and width 0.
struct Image {
  using Support = sensor_msgs::msg::dds_::Image_PubSubType;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(auto& sample, const hopmeter::Setup& setup) { fastdds::set_shape(sample, setup); }
  static auto& text(auto& sample) { return sample.header().frame_id(); }
  static auto& octets(auto& sample) { return sample.data(); }
  static void stamp(auto& sample, std::uint64_t, std::int64_t sent_ns) {
    fastdds::set_time(sample.header().stamp(), sent_ns);
  }
  static std::int64_t sent_ns(const auto& sample) { return fastdds::nanoseconds(sample.header().stamp()); }
};

/// A message within a request or a reply.
template <class Message, class Generated>
struct Enveloped {
  using Support = Generated;
  static void shape(auto& sample, const hopmeter::Setup& setup) { Message::shape(sample.it(), setup); }
  static auto& text(auto& sample) { return Message::text(sample.it()); }
  static auto& octets(auto& sample) requires fastdds::Loaded<Message> { return Message::octets(sample.it()); }
  static void stamp(auto& sample, std::uint64_t seq, std::int64_t sent_ns) {
    Message::stamp(sample.it(), seq, sent_ns);
  }
  static std::int64_t sent_ns(const auto& sample) { return Message::sent_ns(sample.it()); }
};

using TimingRequest = Enveloped<Timing, hopmeter_ros2::srv::dds_::CarryTiming_Request_PubSubType>;
using TimingReply = Enveloped<Timing, hopmeter_ros2::srv::dds_::CarryTiming_Response_PubSubType>;
using ImageRequest = Enveloped<Image, hopmeter_ros2::srv::dds_::CarryImage_Request_PubSubType>;
using ImageReply = Enveloped<Image, hopmeter_ros2::srv::dds_::CarryImage_Response_PubSubType>;

}  // namespace wire::by_fastdds
