/// The messages of ../../idl, and where a frame is in them; ../../README.md has the table.
#pragma once

#include "../../../_cyclonedds/cpp/message.hpp"

#include "cyclone/hopmeter_ros2.h"
#include "cyclone/sensor_msgs.h"
#include "cyclone/std_msgs.h"
#include "wire.hpp"

namespace wire::by_cyclonedds {

/// std_msgs/Header: a time and a text, and nowhere to put a payload.
struct Timing {
  using Sample = std_msgs_msg_dds__Header_;
  static constexpr const dds_topic_descriptor_t& type = std_msgs_msg_dds__Header__desc;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(Sample&, const hopmeter::Setup&) {}
  static auto& text(auto& sample) { return sample.frame_id; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) { cyclone::set_time(sample.stamp, sent_ns); }
  static std::int64_t sent_ns(const Sample& sample) { return cyclone::nanoseconds(sample.stamp); }
};

/// sensor_msgs/Image. Bytes that are no picture have height and width 0.
struct Image {
  using Sample = sensor_msgs_msg_dds__Image_;
  static constexpr const dds_topic_descriptor_t& type = sensor_msgs_msg_dds__Image__desc;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(Sample& sample, const hopmeter::Setup& setup) {
    cyclone::set_shape(sample, setup.height(), setup.width());
  }
  static auto& text(auto& sample) { return sample.header.frame_id; }
  static auto& octets(auto& sample) { return sample.data; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) {
    cyclone::set_time(sample.header.stamp, sent_ns);
  }
  static std::int64_t sent_ns(const Sample& sample) { return cyclone::nanoseconds(sample.header.stamp); }
};

/// A message within a request or a reply.
template <class Message, class Envelope>
struct Enveloped {
  using Sample = Envelope;
  static void shape(Sample& sample, const hopmeter::Setup& setup) { Message::shape(sample.it, setup); }
  static auto& text(auto& sample) { return Message::text(sample.it); }
  static auto& octets(auto& sample) requires cyclone::Loaded<Message> { return Message::octets(sample.it); }
  static void stamp(Sample& sample, std::uint64_t seq, std::int64_t sent_ns) {
    Message::stamp(sample.it, seq, sent_ns);
  }
  static std::int64_t sent_ns(const Sample& sample) { return Message::sent_ns(sample.it); }
};

struct TimingRequest : Enveloped<Timing, hopmeter_ros2_srv_dds__CarryTiming_Request_> {
  static constexpr const dds_topic_descriptor_t& type = hopmeter_ros2_srv_dds__CarryTiming_Request__desc;
};
struct TimingReply : Enveloped<Timing, hopmeter_ros2_srv_dds__CarryTiming_Response_> {
  static constexpr const dds_topic_descriptor_t& type = hopmeter_ros2_srv_dds__CarryTiming_Response__desc;
};
struct ImageRequest : Enveloped<Image, hopmeter_ros2_srv_dds__CarryImage_Request_> {
  static constexpr const dds_topic_descriptor_t& type = hopmeter_ros2_srv_dds__CarryImage_Request__desc;
};
struct ImageReply : Enveloped<Image, hopmeter_ros2_srv_dds__CarryImage_Response_> {
  static constexpr const dds_topic_descriptor_t& type = hopmeter_ros2_srv_dds__CarryImage_Response__desc;
};

}  // namespace wire::by_cyclonedds
