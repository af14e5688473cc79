/// The wire format of ROS 2 by Cyclone DDS's C API: messages of ../idl, topics as ROS 2 names them. No rcl, no rclcpp,
/// no executor. The rest is in ../../_cyclonedds.
#include "carrier.hpp"
#include "sensor_msgs.h"
#include "std_msgs.h"

using namespace hopmeter;

namespace {

/// ROS 2 knows no tags.
constexpr cyclone::Customs customs{.is_tagged = false};

std::string topic_of(const std::string& link) { return "rt/hopmeter_" + link; }

/// std_msgs/Header: a time and a text, and nowhere to put a payload.
struct Timing {
  using Sample = std_msgs_msg_dds__Header_;
  static constexpr const dds_topic_descriptor_t& type = std_msgs_msg_dds__Header__desc;
  static std::string topic(const std::string& link) { return topic_of(link); }
  static void shape(Sample&, const Setup&) {}
  static auto& text(auto& sample) { return sample.frame_id; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) { cyclone::set_time(sample.stamp, sent_ns); }
  static std::int64_t sent_ns(const Sample& sample) { return cyclone::nanoseconds(sample.stamp); }
};

/// sensor_msgs/Image. Bytes that are no picture have height and width 0.
struct Image {
  using Sample = sensor_msgs_msg_dds__Image_;
  static constexpr const dds_topic_descriptor_t& type = sensor_msgs_msg_dds__Image__desc;
  static std::string topic(const std::string& link) { return topic_of(link); }
  static void shape(Sample& sample, const Setup& setup) { cyclone::set_shape(sample, setup.height(), setup.width()); }
  static auto& text(auto& sample) { return sample.header.frame_id; }
  static auto& octets(auto& sample) { return sample.data; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) {
    cyclone::set_time(sample.header.stamp, sent_ns);
  }
  static std::int64_t sent_ns(const Sample& sample) { return cyclone::nanoseconds(sample.header.stamp); }
};

/// Picks the message by what the payload stands for.
class Ros2Wire final : public cyclone::Choice {
 public:
  explicit Ros2Wire(const Setup& setup) : Choice(carrier(setup)) {}

 private:
  static std::unique_ptr<Transport> carrier(const Setup& setup) {
    if (setup.payload() == PayloadKind::timing) return std::make_unique<cyclone::Carrier<Timing>>(setup, customs);
    return std::make_unique<cyclone::Carrier<Image>>(setup, customs);
  }
};

}  // namespace

int main(int argc, char** argv) { return run<Ros2Wire>(argc, argv); }
