/// Topics and services with Fast DDS. ../idl defines the messages; the shared code is in ../../_fastdds.
#include "../../_fastdds/cpp/transport.hpp"

#include <cstring>

#include "../../_cyclonedds/cpp/buffer.hpp"
#include "fast/hopmeter_ros2PubSubTypes.h"
#include "fast/sensor_msgsPubSubTypes.h"
#include "fast/std_msgsPubSubTypes.h"
#include "hopmeter/choice.hpp"
#include "services.hpp"

using namespace hopmeter;

namespace wire {
namespace {

/// std_msgs/Header: a time and a text, without a payload field.
struct Timing {
  using Support = std_msgs::msg::dds_::Header_PubSubType;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(auto&, const Link&) {}
  static auto& text(auto& sample) { return sample.frame_id(); }
  static void stamp(auto& sample, std::uint64_t, std::int64_t sent_ns) { set_time(sample.stamp(), sent_ns); }
  static std::int64_t sent_ns(const auto& sample) { return nanoseconds(sample.stamp()); }
};

/// A sensor_msgs/Image, whose height and width are 0 if the bytes are not an image.
struct Image {
  using Support = sensor_msgs::msg::dds_::Image_PubSubType;
  static std::string topic(const std::string& link) { return message_topic(link); }
  static void shape(auto& sample, const Link& link) { fastdds::set_shape(sample, link); }
  static auto& text(auto& sample) { return sample.header().frame_id(); }
  static auto& octets(auto& sample) { return sample.data(); }
  static void stamp(auto& sample, std::uint64_t, std::int64_t sent_ns) { set_time(sample.header().stamp(), sent_ns); }
  static std::int64_t sent_ns(const auto& sample) { return nanoseconds(sample.header().stamp()); }
};

/// A message in a request or a reply.
template <class Message, class Generated>
struct Enveloped {
  using Support = Generated;
  static void shape(auto& sample, const Link& link) { Message::shape(sample.it(), link); }
  static auto& text(auto& sample) { return Message::text(sample.it()); }
  static auto& octets(auto& sample) requires HasPayload<Message, fastdds::Sample<Message>> {
    return Message::octets(sample.it());
  }
  static void stamp(auto& sample, std::uint64_t seq, std::int64_t sent_ns) {
    Message::stamp(sample.it(), seq, sent_ns);
  }
  static std::int64_t sent_ns(const auto& sample) { return Message::sent_ns(sample.it()); }
};

using TimingRequest = Enveloped<Timing, hopmeter_ros2::srv::dds_::CarryTiming_Request_PubSubType>;
using TimingReply = Enveloped<Timing, hopmeter_ros2::srv::dds_::CarryTiming_Response_PubSubType>;
using ImageRequest = Enveloped<Image, hopmeter_ros2::srv::dds_::CarryImage_Request_PubSubType>;
using ImageReply = Enveloped<Image, hopmeter_ros2::srv::dds_::CarryImage_Response_PubSubType>;

/// A message with the type name of a request or reply, which have no other fields in rmw_fastrtps.
template <class Message, const char* name>
struct Named : Message {
  static constexpr const char* type_name = name;
};

constexpr char timing_request[] = "hopmeter_ros2::srv::dds_::CarryTiming_Request_";
constexpr char timing_reply[] = "hopmeter_ros2::srv::dds_::CarryTiming_Response_";
constexpr char image_request[] = "hopmeter_ros2::srv::dds_::CarryImage_Request_";
constexpr char image_reply[] = "hopmeter_ros2::srv::dds_::CarryImage_Response_";

/// Implements the interface that services.hpp needs, with Fast DDS, except for the form of requests and replies.
struct Dds {
  template <class Message>
  using Sample = fastdds::Sample<Message>;
  template <class Message>
  using Source = fastdds::Source<Message>;

  template <class Message>
  auto reply_writer(const Link& link, const std::string& topic) {
    return fastdds::Writer<Message>(participant, link, topic,
                                    fastdds::for_service(fastdds::writer_qos(session.setup, session.options)));
  }
  template <class Message>
  auto request_writer(const Link& link, const std::string& topic) {
    return reply_writer<Message>(link, topic);
  }
  template <class Message>
  auto reader(const Link& link, const std::string& topic) {
    return fastdds::PolledReader<Message>(participant, link, topic, reader_qos());
  }
  template <class Message, class Look>
  Owned<Subscription> serve(const std::string& topic, Look look) {
    return std::make_unique<fastdds::ServingReader<Message, Look>>(participant, topic, reader_qos(), std::move(look));
  }
  fast::DataReaderQos reader_qos() const {
    return fastdds::for_service(fastdds::reader_qos(session.setup, session.options));
  }

  template <class Message>
  static void hand_over(const Sample<Message>& sample, const auto& take) {
    hopmeter::hand_over<Message>(sample, take);
  }

  fastdds::Session& session;
  fastdds::Participant& participant;
};

/// Requests and replies in the form of rmw_cyclonedds.
struct HeaderDds : Dds {
  using Call = wire::Call;
  static Call first_call(const auto& requests, const auto&) { return {.client = fold(requests.guid())}; }
  static Sent send_request(auto& writer, const auto& sample, Call& call) {
    ++call.number;
    return send_reply(writer, sample, call);
  }
  /// The header of a forwarded sample has already been read, so its fields may be overwritten.
  static Sent send_reply(auto& writer, const auto& sample, const Call& call) {
    auto& own = const_cast<std::remove_cvref_t<decltype(sample)>&>(sample);
    own.client(call.client);
    own.number(call.number);
    return writer.write(own);
  }
  static Call call_of(const auto&, const auto& sample) { return {sample.client(), sample.number()}; }
  static bool answers(const auto&, const auto& sample, const Call& call) { return sample.client() == call.client; }

 private:
  /// Folds the 16 octets of a writer's identity into the 8 octets of the header's field.
  static std::uint64_t fold(const rtps::GUID_t& guid) {
    std::uint64_t halves[2];
    std::memcpy(halves, guid.guidPrefix.value, sizeof guid.guidPrefix.value);
    std::memcpy(reinterpret_cast<char*>(halves) + sizeof guid.guidPrefix.value, guid.entityId.value,
                sizeof guid.entityId.value);
    return halves[0] ^ halves[1];
  }
};

/// Requests and replies in the form of rmw_fastrtps, which uses the inline parameter `related_sample_identity`. A
/// request contains the identity of the client's reader; a reply contains that identity and the request's number.
struct InlineDds : Dds {
  using Call = rtps::SampleIdentity;
  static Call first_call(const auto&, const auto& replies) { return Call().writer_guid(replies.guid()); }
  static Sent send_request(auto& writer, const auto& sample, const Call& call) {
    return send_reply(writer, sample, call);
  }
  static Sent send_reply(auto& writer, const auto& sample, const Call& call) {
    rtps::WriteParams parameters;
    parameters.related_sample_identity(call);
    return writer.write(sample, parameters);
  }
  static Call call_of(const auto& source, const auto&) {
    const fast::SampleInfo& info = source.info();
    Call call = info.sample_identity;
    const auto& reader = info.related_sample_identity.writer_guid();
    if (reader != rtps::GUID_t::unknown()) call.writer_guid(reader);
    return call;
  }
  static bool answers(const auto& source, const auto&, const Call& call) {
    return source.info().related_sample_identity.writer_guid() == call.writer_guid();
  }
};

fastdds::Options options(const Setup& setup) {
  return {
      // Other DDS libraries read this field as well.
      .transport = "udp",
      .receive_buffer_bytes = cyclone::is_large(setup) ? cyclone::large_buffer_bytes : 0,
      .patience_ms = 0,
      .meets_others = true,
      .address = setup.advertised(),
  };
}

/// Records in the fact `fallback` how the effective configuration differs from the settings.
void add_fallback(Facts& facts, const std::string& what) {
  for (auto& [name, value] : facts)
    if (name == "fallback") return void(value += "\n" + what);
  facts.emplace_back("fallback", what);
}

/// The request and reply types of a service.
template <class RequestMessage, class ReplyMessage>
struct Exchange {
  using Request = RequestMessage;
  using Reply = ReplyMessage;
};

using Topics = MessageTypes<Timing, Image, PayloadKind::image>;
using HeaderServices =
    MessageTypes<Exchange<TimingRequest, TimingReply>, Exchange<ImageRequest, ImageReply>, PayloadKind::image>;
using InlineServices =
    MessageTypes<Exchange<Named<Timing, timing_request>, Named<Timing, timing_reply>>,
                 Exchange<Named<Image, image_request>, Named<Image, image_reply>>, PayloadKind::image>;

class FastTransport final : public fastdds::DdsTransport<Topics> {
 public:
  explicit FastTransport(const Setup& setup) : DdsTransport(setup, options(setup)) {}

  Owned<hopmeter::Server> server(const Link& link) override { return open<hopmeter::Server, Server>(link); }
  Owned<hopmeter::Client> client(const Link& link) override { return open<hopmeter::Client, Client>(link); }

  Facts facts() override {
    const auto& setup = session_.setup;
    auto facts = DdsTransport::facts();
    facts.emplace_back("domain", std::to_string(fastdds::domain_of(setup.run())));
    facts.emplace_back("interface", setup.advertised());
    facts.emplace_back("shared_memory", "not used");
    if (setup.setting<std::string>("delivery") == "asynchronous")
      add_fallback(facts, "Fast DDS does not support delivery = asynchronous");
    return facts;
  }

 private:
  /// Opens a server or a client with the form of requests and replies that the setting selects.
  template <class End, template <class, class, class> class Of>
  Owned<End> open(const Link& link) {
    if (session_.setup.setting<std::string>("calls") == "fastrtps")
      return open<End, Of, InlineDds, InlineServices>(link);
    return open<End, Of, HeaderDds, HeaderServices>(link);
  }

  template <class End, template <class, class, class> class Of, class Form, class Services>
  Owned<End> open(const Link& link) {
    return Services::choose(link, [&]<class Messages>(std::type_identity<Messages>) {
      using Made = Of<Form, typename Messages::Request, typename Messages::Reply>;
      return Owned<End>(std::make_unique<Made>(Form{{session_, participant_}}, link));
    });
  }
};

}  // namespace

std::string fastdds_version() { return fastdds::version(); }

std::unique_ptr<Transport> open_fastdds(const Setup& setup) { return std::make_unique<FastTransport>(setup); }

}  // namespace wire
