// A baseline with zenoh-cpp alone: each process has two sessions, one that listens and one that connects. The second
// process passes each message on by reference. `zenoh block|callback BYTES ROUNDS CORES` prints the median round trip
// in ns. CORES is `A` or `A,B`, as in bare.h.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <zenoh.hxx>

#include "rounds.hpp"

namespace {

using Samples = zenoh::channels::FifoHandler<zenoh::Sample>;

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof place;
  auto* raw = reinterpret_cast<sockaddr*>(&place);
  require(bind(probe, raw, bytes) == 0 && getsockname(probe, raw, &bytes) == 0, "find a free port");
  close(probe);
  return ntohs(place.sin_port);
}

zenoh::Session open_peer(const char* key, int port) {
  auto config = zenoh::Config::create_default();
  config.insert_json5("scouting/multicast/enabled", "false");
  config.insert_json5("scouting/gossip/enabled", "false");
  config.insert_json5("listen/endpoints", "[]");
  config.insert_json5("connect/timeout_ms", "10000");
  config.insert_json5("transport/shared_memory/enabled", "false");
  config.insert_json5(key, "[\"tcp/127.0.0.1:" + std::to_string(port) + "\"]");
  return zenoh::Session::open(std::move(config));
}

// A message in contiguous memory, which most programs need. zenoh delivers large messages in several pieces.
class Whole {
 public:
  const uint8_t* of(const zenoh::Bytes& message) {
    const auto first = message.slice_iter().next();
    if (first && first->len == message.size()) return first->data;
    if (!joined_) joined_ = std::make_unique_for_overwrite<uint8_t[]>(frame_bytes);
    message.reader().read(joined_.get(), frame_bytes);
    return joined_.get();
  }

 private:
  std::unique_ptr<uint8_t[]> joined_;
};

// Makes a put wait for room in zenoh's queue. By default, zenoh drops messages for which its queue has no room, and a
// round trip must lose none.
zenoh::Session::PublisherOptions patient() {
  zenoh::Session::PublisherOptions options;
  options.congestion_control = Z_CONGESTION_CONTROL_BLOCK;
  return options;
}

// One process, which sends on one key and receives on the other key, either from a channel or by a callback.
template <class Look>
class End {
 public:
  End(const char* to, int own_port, const char* from, int other_port, bool blocks, Look look)
      : look_(std::move(look)),
        listening_(open_peer("listen/endpoints", own_port)),
        connected_(open_peer("connect/endpoints", other_port)),
        out_(listening_.declare_publisher(zenoh::KeyExpr(to), patient())) {
    const zenoh::KeyExpr key(from);
    if (blocks)
      in_.emplace(connected_.declare_subscriber(key, zenoh::channels::FifoChannel(256)));
    else
      called_.emplace(connected_.declare_subscriber(
          key, [this](const zenoh::Sample& sample) { take(sample); }, [] {}));
  }

  void put(zenoh::Bytes message) { out_.put(std::move(message)); }

  // Takes one message from the channel. If `waits` is true, waits for the message.
  void receive(bool waits) {
    const auto next = waits ? in_->handler().recv() : in_->handler().try_recv();
    if (const auto* sample = std::get_if<zenoh::Sample>(&next)) take(*sample);
  }

 private:
  void take(const zenoh::Sample& sample) {
    const auto* data = whole_.of(sample.get_payload());
    const int64_t arrived = now_ns();
    const head of = head_of(data, frame_bytes);
    look_(*this, sample.get_payload(), of, arrived);
    note(of.number, arrived);
  }

  Look look_;
  Whole whole_;
  zenoh::Session listening_, connected_;
  zenoh::Publisher out_;
  std::optional<zenoh::Subscriber<Samples>> in_;
  std::optional<zenoh::Subscriber<void>> called_;
};

// Relays until the measuring process ends.
int relay(int own_port, int other_port, bool blocks) {
  const auto pass = [](auto& end, const zenoh::Bytes& message, const head&, int64_t) { end.put(message.clone()); };
  End end("back", own_port, "there", other_port, blocks, pass);
  while (blocks) end.receive(true);
  for (;;) pause();
}

// The answer to the current message, which a callback or a thread with a channel stores.
struct Answer {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t number = 0, lasted = 0;
};

void ask(int own_port, int other_port, bool blocks) {
  Answer answer;
  const auto keep = [&](auto&, const zenoh::Bytes&, const head& of, int64_t arrived) {
    const std::lock_guard lock(answer.mutex);
    if (of.number != answer.number) return;
    answer.lasted = arrived - of.sent;
    answer.changed.notify_one();
  };
  End end("there", own_port, "back", other_port, blocks, keep);
  static uint8_t* message = static_cast<uint8_t*>(calloc(1, frame_bytes));
  const auto send = [&] {
    {
      const std::lock_guard lock(answer.mutex);
      answer.lasted = 0;
      write_head(message, ++answer.number);
    }
    end.put(zenoh::Bytes(message, frame_bytes, [](uint8_t*) {}));
  };
  measure([&](int looks) -> int64_t {
    send();
    const int64_t until = now_ns() + looks * LOOK_MS * 1000000LL;
    // Until the processes know each other, zenoh loses messages, and a blocking receiver would wait forever.
    const bool waits = looks > 1;
    while (blocks && answer.lasted == 0 && now_ns() < until) end.receive(waits);
    std::unique_lock lock(answer.mutex);
    answer.changed.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until)),
                              [&] { return answer.lasted > 0; });
    return answer.lasted;
  });
}

}  // namespace

int main(int count, char** words) {
  require(count == 5, "start without block|callback BYTES ROUNDS CORES");
  const bool blocks = std::string(words[1]) == "block";
  prepare(words + 2);
  const int here = free_port(), there = free_port();
  const pid_t other = other_process();
  if (other == 0) return relay(there, here, blocks);
  ask(here, there, blocks);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  tell_median();
}
