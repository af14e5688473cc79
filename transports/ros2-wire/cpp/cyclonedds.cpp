/// Topics and services with Cyclone DDS's C API. ../idl defines the messages; the shared code is in ../../_cyclonedds.
#include "../../_cyclonedds/cpp/ends.hpp"

#include "cyclone/hopmeter_ros2.h"
#include "cyclone/sensor_msgs.h"
#include "cyclone/std_msgs.h"
#include "hopmeter/choice.hpp"
#include "services.hpp"

using namespace hopmeter;

namespace wire {
namespace {

/// std_msgs/Header: a time and a text, without a payload field.
struct Timing {
  using Sample = std_msgs_msg_dds__Header_;
  static constexpr const dds_topic_descriptor_t& type = std_msgs_msg_dds__Header__desc;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(Sample&, const Link&) {}
  static auto& text(auto& sample) { return sample.frame_id; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) { set_time(sample.stamp, sent_ns); }
  static std::int64_t sent_ns(const Sample& sample) { return nanoseconds(sample.stamp); }
};

/// A sensor_msgs/Image, whose height and width are 0 if the bytes are not an image.
struct Image {
  using Sample = sensor_msgs_msg_dds__Image_;
  static constexpr const dds_topic_descriptor_t& type = sensor_msgs_msg_dds__Image__desc;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(Sample& sample, const Link& link) { cyclone::set_shape(sample, link); }
  static auto& text(auto& sample) { return sample.header.frame_id; }
  static auto& octets(auto& sample) { return sample.data; }
  static void stamp(Sample& sample, std::uint64_t, std::int64_t sent_ns) { set_time(sample.header.stamp, sent_ns); }
  static std::int64_t sent_ns(const Sample& sample) { return nanoseconds(sample.header.stamp); }
};

/// A message in a request or a reply.
template <class Message, class Envelope, const dds_topic_descriptor_t& descriptor>
struct Enveloped {
  using Sample = Envelope;
  static constexpr const dds_topic_descriptor_t& type = descriptor;
  static void shape(Sample& sample, const Link& link) { Message::shape(sample.it, link); }
  static auto& text(auto& sample) { return Message::text(sample.it); }
  static auto& octets(auto& sample) requires HasPayload<Message, typename Message::Sample> {
    return Message::octets(sample.it);
  }
  static void stamp(Sample& sample, std::uint64_t seq, std::int64_t sent_ns) {
    Message::stamp(sample.it, seq, sent_ns);
  }
  static std::int64_t sent_ns(const Sample& sample) { return Message::sent_ns(sample.it); }
};

using TimingRequest =
    Enveloped<Timing, hopmeter_ros2_srv_dds__CarryTiming_Request_, hopmeter_ros2_srv_dds__CarryTiming_Request__desc>;
using TimingReply =
    Enveloped<Timing, hopmeter_ros2_srv_dds__CarryTiming_Response_, hopmeter_ros2_srv_dds__CarryTiming_Response__desc>;
using ImageRequest =
    Enveloped<Image, hopmeter_ros2_srv_dds__CarryImage_Request_, hopmeter_ros2_srv_dds__CarryImage_Request__desc>;
using ImageReply =
    Enveloped<Image, hopmeter_ros2_srv_dds__CarryImage_Response_, hopmeter_ros2_srv_dds__CarryImage_Response__desc>;

/// Implements the interface that services.hpp needs, with Cyclone DDS.
struct Dds {
  template <class Message>
  using Sample = typename Message::Sample;
  template <class Message>
  using Source = cyclone::Source<Message>;

  template <class Message>
  auto request_writer(const Link& link, const std::string& topic) {
    return cyclone::Writer<Message>(participant, link, topic, cyclone::request_qos(participant.setup, link));
  }
  template <class Message>
  auto reply_writer(const Link& link, const std::string& topic) {
    return cyclone::Writer<Message>(participant, link, topic, cyclone::service_qos(participant.setup));
  }
  template <class Message>
  auto reader(const Link& link, const std::string& topic) {
    return cyclone::PolledReader<Message>(participant, link, topic, cyclone::service_qos(participant.setup));
  }
  template <class Message, class Look>
  Owned<Subscription> serve(const std::string& topic, Look look) {
    return std::make_unique<cyclone::CalledReader<Message, Look>>(
        participant, topic, cyclone::service_qos(participant.setup), std::move(look));
  }

  using Call = wire::Call;
  static Call first_call(const auto& requests, const auto&) { return {.client = requests.id()}; }
  static Sent send_request(auto& writer, const auto& sample, Call& call) {
    ++call.number;
    return send_reply(writer, sample, call);
  }
  /// Copies the sample, but only its top-level fields.
  static Sent send_reply(auto& writer, auto sample, const Call& call) {
    sample.client = call.client;
    sample.number = call.number;
    return writer.write(sample);
  }
  static Call call_of(const auto&, const auto& sample) { return {sample.client, sample.number}; }
  static bool answers(const auto&, const auto& sample, const Call& call) { return sample.client == call.client; }
  template <class Message>
  static void hand_over(const Sample<Message>& sample, const auto& take) {
    cyclone::hand_over<Message>(sample, take);
  }

  cyclone::Participant& participant;
};

/// The request and reply types of a service.
template <class RequestMessage, class ReplyMessage>
struct Exchange {
  using Request = RequestMessage;
  using Reply = ReplyMessage;
};

using Topics = MessageTypes<Timing, Image, PayloadKind::image>;
using Services =
    MessageTypes<Exchange<TimingRequest, TimingReply>, Exchange<ImageRequest, ImageReply>, PayloadKind::image>;

class CycloneTransport final : public cyclone::DdsTransport<Topics> {
 public:
  /// ROS 2 does not support domain tags.
  explicit CycloneTransport(const Setup& setup) : DdsTransport(setup, {.is_tagged = false}) {}

  Owned<hopmeter::Server> server(const Link& link) override {
    return Services::choose(link, [&]<class Messages>(std::type_identity<Messages>) {
      using Made = Server<Dds, typename Messages::Request, typename Messages::Reply>;
      return Owned<hopmeter::Server>(std::make_unique<Made>(Dds{participant_}, link));
    });
  }
  Owned<hopmeter::Client> client(const Link& link) override {
    return Services::choose(link, [&]<class Messages>(std::type_identity<Messages>) {
      using Made = Client<Dds, typename Messages::Request, typename Messages::Reply>;
      return Owned<hopmeter::Client>(std::make_unique<Made>(Dds{participant_}, link));
    });
  }
};

}  // namespace

std::string cyclonedds_version() { return cyclone::version(); }

std::unique_ptr<Transport> open_cyclonedds(const Setup& setup) { return std::make_unique<CycloneTransport>(setup); }

}  // namespace wire
