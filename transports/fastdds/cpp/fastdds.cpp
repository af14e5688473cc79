/// Fast DDS with its DDS interface: a writer and a reader for each link. ../idl defines the messages; the rest is in
/// ../../_fastdds.
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
  };
  if (setup.setting<std::string>("profile") == "large") fastdds::enlarge(options, setup.frame_bytes());
  return options;
}

template <class Message>
void demand_room(std::size_t payload_bytes) {
  using Octets = std::remove_cvref_t<decltype(Message::octets(std::declval<fastdds::Sample<Message>&>()))>;
  constexpr auto room = std::tuple_size_v<Octets>;
  if (payload_bytes > room)
    throw Error("data sharing needs a type of fixed size, and this one holds " + std::to_string(room) +
                    " of the payload's " + std::to_string(payload_bytes) + " bytes",
                "set data_sharing = false, or measure smaller payloads (images may have 8 MiB)");
}

template <class Message>
std::unique_ptr<Transport> open(const Setup& setup) {
  if constexpr (fastdds::Plain<Message>) demand_room<Message>(setup.frame_bytes() - header_bytes);
  return std::make_unique<fastdds::DdsTransport<Message>>(setup, options(setup));
}

/// Selects the message type by the payload.
class FastDds final : public Choice {
 public:
  explicit FastDds(const Setup& setup) : Choice(choose(setup)) {}

  static std::string version() { return fastdds::version(); }

 private:
  static std::unique_ptr<Transport> choose(const Setup& setup) {
    const bool is_plain = setup.setting<bool>("data_sharing");
    if (setup.payload() == PayloadKind::image) return is_plain ? open<PlainImage>(setup) : open<Image>(setup);
    return is_plain ? open<PlainTiming>(setup) : open<Timing>(setup);
  }
};

}  // namespace

int main(int argc, char** argv) { return run<FastDds>(argc, argv); }
