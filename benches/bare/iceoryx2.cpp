// A baseline with iceoryx2 alone: a second process copies each sample from one service to a sample of another service.
// `iceoryx2 FOLDER spin|block BYTES ROUNDS CORES` prints the median round trip in ns. FOLDER is the root of iceoryx2's
// files; CORES is `A` or `A,B`, as in bare.h.
#include <iox2/iceoryx2.hpp>

#include <optional>
#include <string>
#include <utility>

#include "rounds.hpp"

namespace {

constexpr auto ipc = iox2::ServiceType::Ipc;
using Bytes = iox2::bb::Slice<uint8_t>;

// Creates a node with names that no other program of the machine has, and with files that the bench removes.
iox2::Node<ipc> join(const char* folder) {
  iox2::set_log_level(iox2::LogLevel::Fatal);
  iox2::Config config;
  const auto run = getenv("HOPMETER_BENCH_RUN");
  const auto prefix = "hm_" + std::string(run ? run : "bench") + "_";
  config.global().set_root_path(iox2::bb::Path::create(folder).value());
  config.global().set_prefix(iox2::bb::FileName::create(prefix.c_str()).value());
  auto builder = iox2::NodeBuilder().config(config).signal_handling_mode(iox2::SignalHandlingMode::Disabled);
  return std::move(builder).create<ipc>().value();
}

struct Link {
  iox2::ServiceName name;
  iox2::PortFactoryPublishSubscribe<ipc, Bytes, void> frames;
  std::optional<iox2::PortFactoryEvent<ipc>> events;

  Link(const iox2::Node<ipc>& node, const char* link, bool blocks)
      : name(iox2::ServiceName::create(link).value()),
        frames(node.service_builder(name)
                   .publish_subscribe<Bytes>()
                   .subscriber_max_buffer_size(16)
                   .open_or_create()
                   .value()) {
    if (blocks) events.emplace(node.service_builder(name).event().open_or_create().value());
  }
};

struct End {
  iox2::Node<ipc> node;
  Link there, back;
  iox2::Publisher<ipc, Bytes, void> out;
  std::optional<iox2::Notifier<ipc>> notifier;
  std::optional<iox2::Listener<ipc>> listener;
  iox2::Subscriber<ipc, Bytes, void> in;

  End(const char* folder, const char* to, const char* from, bool blocks)
      : node(join(folder)),
        there(node, to, blocks),
        back(node, from, blocks),
        out(there.frames.publisher_builder()
                .initial_max_slice_len(frame_bytes)
                .backpressure_strategy(iox2::BackpressureStrategy::DiscardData)
                .create()
                .value()),
        in(back.frames.subscriber_builder().create().value()) {
    if (!blocks) return;
    notifier.emplace(there.events->notifier_builder().create().value());
    listener.emplace(back.events->listener_builder().create().value());
  }

  void send(auto&& write) {
    auto sample = out.loan_slice_uninit(frame_bytes).value();
    write(sample.payload_mut().data());
    iox2::send(iox2::assume_init(std::move(sample))).value();
    if (notifier) notifier->notify().value();
  }

  // Takes a sample. With `block`, waits once if no sample has arrived. Returns false if no sample has arrived.
  bool receive(auto&& look) {
    if (take(look)) return true;
    if (!listener) return false;
    listener->timed_wait([](const auto&) {}, iox2::bb::Duration::from_millis(static_cast<int>(LOOK_MS))).value();
    return take(look);
  }

  bool take(auto&& look) {
    const auto sample = in.receive().value();
    if (!sample.has_value()) return false;
    look(sample->payload().data());
    return true;
  }
};

// Relays until a message is marked as the last.
int relay(const char* folder, bool blocks) {
  End end(folder, "back", "there", blocks);
  for (bool ended = false; !ended;) {
    end.receive([&](const uint8_t* came) {
      const int64_t arrived = now_ns();
      const head of = head_of(came, frame_bytes);
      ended = of.number < 0;
      if (!ended) end.send([&](uint8_t* sample) { memcpy(sample, came, frame_bytes); });
      note(of.number, arrived);
    });
  }
  return 0;
}

void ask(const char* folder, bool blocks) {
  End end(folder, "there", "back", blocks);
  int64_t number = 0;
  measure([&](int looks) -> int64_t {
    int64_t lasted = 0;
    end.send([&](uint8_t* sample) { write_head(sample, ++number); });
    const int64_t until = now_ns() + looks * LOOK_MS * 1000000LL;
    while (lasted == 0 && now_ns() < until) {
      end.receive([&](const uint8_t* came) {
        const int64_t arrived = now_ns();
        const head of = head_of(came, frame_bytes);
        if (of.number == number) lasted = arrived - of.sent;
        note(of.number, arrived);
      });
    }
    return lasted;
  });
  end.send([](uint8_t* sample) { write_head(sample, -1); });
}

}  // namespace

int main(int count, char** words) {
  require(count == 6, "start without FOLDER spin|block BYTES ROUNDS CORES");
  const bool blocks = std::string(words[2]) == "block";
  prepare(words + 3);
  const pid_t other = other_process();
  if (other == 0) return relay(words[1], blocks);
  ask(words[1], blocks);
  waitpid(other, nullptr, 0);
  tell_median();
}
