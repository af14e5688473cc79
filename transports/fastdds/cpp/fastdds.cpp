/// The adapter for Fast DDS, through its DDS API: a writer and a reader for each link. ../idl defines the messages; the
/// shared code is in ../../_fastdds.
#include "hopmeter/choice.hpp"
#include "messages.hpp"
#include "transport.hpp"

using namespace hopmeter;

namespace {

fastdds::Options options(const Setup& setup) {
  const auto socket_buffer_bytes = setup.setting<std::uint32_t>("socket_buffer_bytes");
  fastdds::Options options{
      .transport = setup.setting<std::string>("transport"),
      .segment_bytes = setup.setting<std::uint32_t>("segment_bytes"),
      .send_buffer_bytes = socket_buffer_bytes,
      .receive_buffer_bytes = socket_buffer_bytes,
      .is_intra_process = setup.setting<bool>("intra_process"),
      .is_data_sharing = setup.setting<bool>("data_sharing"),
      .is_asynchronous = setup.setting<std::string>("publish") == "asynchronous",
      .heartbeat_ms = setup.setting<std::int32_t>("heartbeat_ms"),
      .address = setup.advertised(),
  };
  if (setup.setting<std::string>("profile") == "large") fastdds::enlarge(options, setup.largest_frame_bytes());
  return options;
}

template <class Message>
void demand_room(std::size_t payload_bytes) {
  using Octets = std::remove_cvref_t<decltype(Message::octets(std::declval<fastdds::Sample<Message>&>()))>;
  constexpr auto room = std::tuple_size_v<Octets>;
  if (payload_bytes > room)
    throw Error("data sharing needs a type of fixed size, but this type holds only " + std::to_string(room) +
                    " of the payload's " + std::to_string(payload_bytes) + " bytes",
                "set data_sharing = false, or measure smaller payloads (images may have 8 MiB)");
}

using Serialised = fastdds::DdsTransport<MessageTypes<Timing, Image>>;

/// Uses plain messages, whose memory the library can share.
class Shared final : public fastdds::DdsTransport<MessageTypes<PlainTiming, PlainImage>> {
 public:
  using DdsTransport::DdsTransport;

  Owned<Publisher> publisher(const Link& link) override {
    const auto payload_bytes = link.frame_bytes - header_bytes;
    MessageTypes<PlainTiming, PlainImage>::choose(
        link, [&]<class Message>(std::type_identity<Message>) { demand_room<Message>(payload_bytes); });
    return DdsTransport::publisher(link);
  }
};

/// Selects plain messages if data sharing is requested.
class FastDds final : public Choice {
 public:
  explicit FastDds(const Setup& setup) : Choice(choose(setup)) {}

  static std::string version() { return fastdds::version(); }

 private:
  static std::unique_ptr<Transport> choose(const Setup& setup) {
    if (setup.setting<bool>("data_sharing")) return std::make_unique<Shared>(setup, options(setup));
    return std::make_unique<Serialised>(setup, options(setup));
  }
};

}  // namespace

int main(int argc, char** argv) { return run<FastDds>(argc, argv); }
