// Sends messages to a LibXR callback at a steady rate. `cold_libxr BYTES RATE_HZ MESSAGES CORES` prints the median time
// from stamp to arrival in nanoseconds. LibXR topics accepted any size until spring 2026; newer topics have one exact
// type.
#include <memory>
#include <message.hpp>
#include <type_traits>

#include "cold.hpp"

namespace {

constexpr std::size_t room = 16 << 20;

struct Frame {
  Frame() {}  // leaves the memory uninitialised
  Header header;
  unsigned char payload[room];
};

template <class Topic>
concept SizedTopic = requires(Topic topic, Frame& frame) {
  topic.Publish(static_cast<void*>(&frame), sizeof frame);
};

using Data = std::conditional_t<SizedTopic<LibXR::Topic>, LibXR::RawData&, const LibXR::ConstRawData&>;

void publish(auto& topic, Frame& frame, std::size_t bytes) {
  if constexpr (SizedTopic<std::remove_reference_t<decltype(topic)>>)
    topic.Publish(static_cast<void*>(&frame), sizeof(Header) + bytes);
  else
    topic.Publish(frame);
}

void on_frame(bool, Schedule* schedule, Data data) {
  const auto arrived_ns = now_ns();
  schedule->record(static_cast<const Frame*>(data.addr_)->header.sent_ns, arrived_ns);
}

}  // namespace

int main(int count, char** words) {
  require(count == 5, "go on: cold_libxr BYTES RATE_HZ MESSAGES CORES");
  pin(words[4]);
  Schedule schedule(words + 1);
  require(schedule.bytes <= room, "send that much");
  auto topic = LibXR::Topic::CreateTopic<Frame>("cold");
  auto callback = LibXR::Topic::Callback::Create(on_frame, &schedule);
  topic.RegisterCallback(callback);
  const auto frame = std::make_unique<Frame>();
  schedule.run([&](std::int64_t seq, auto&& write) {
    write(frame->payload);
    frame->header = {seq, 0, {}};
    frame->header.sent_ns = now_ns();
    publish(topic, *frame, schedule.bytes);
  });
  return schedule.tell();
}
