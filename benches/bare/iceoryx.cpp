// A baseline with iceoryx alone: a second process copies each chunk from one topic to a chunk of another topic. While
// RouDi runs, `iceoryx BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.h.
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>

#include <string>

#include "bare.h"

namespace {

constexpr int ready_rounds = 1000, ready_ms = 10, lost_ms = 5000;
constexpr uint32_t alignment = 64;

iox::capro::ServiceDescription topic(const char* name) {
  return {"bench", iox::capro::IdString_t(iox::cxx::TruncateToCapacity, name), "frames"};
}

struct End {
  iox::popo::UntypedPublisher out;
  iox::popo::UntypedSubscriber in;
  iox::popo::WaitSet<> waits;

  End(const char* to, const char* from) : out(topic(to)), in(topic(from)) {
    waits.attachState(in, iox::popo::SubscriberState::HAS_DATA).or_else([](auto) { require(0, "wait for chunks"); });
  }
  ~End() { waits.detachState(in, iox::popo::SubscriberState::HAS_DATA); }

  void send(auto&& write) {
    auto lent = out.loan(static_cast<uint32_t>(frame_bytes), alignment).and_then([&](void* chunk) {
      write(chunk);
      out.publish(chunk);
    });
    require(!lent.has_error(), "get a chunk");
  }

  // Sleeps until a chunk arrives; returns false if no chunk arrives in time.
  bool receive(int patience_ms, auto&& look) {
    waits.timedWait(iox::units::Duration::fromMilliseconds(patience_ms));
    return !in.take()
                .and_then([&](const void* chunk) {
                  look(chunk);
                  in.release(chunk);
                })
                .has_error();
  }
};

void join(const char* who) {
  const auto run = getenv("HOPMETER_BENCH_RUN");
  const auto name = "hm_" + std::string(run ? run : "bench") + "_" + who + std::to_string(getpid());
  iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name.c_str()));
}

// Relays until a message is marked as the last. The process is not killed, because RouDi must get its resources back.
int relay() {
  join("relay");
  End end("back", "there");
  for (bool ended = false; !ended;) {
    end.receive(lost_ms, [&](const void* came) {
      const int64_t arrived = now_ns();
      const head of = head_of(came, frame_bytes);
      ended = of.number < 0;
      if (!ended) end.send([&](void* chunk) { memcpy(chunk, came, frame_bytes); });
      note(of.number, arrived);
    });
  }
  return 0;
}

// Sends one message to the other process and back. Returns the duration, or -1 if the message was lost.
int64_t round_trip(End& end, int patience_ms) {
  static int64_t number = 0;
  int64_t lasted = -1;
  end.send([&](void* chunk) { write_head(chunk, ++number); });
  while (lasted < 0) {
    auto mine = [&](const void* chunk) {
      const int64_t arrived = now_ns();
      const head of = head_of(chunk, frame_bytes);
      if (of.number == number) lasted = arrived - of.sent;
      note(of.number, arrived);
    };
    if (!end.receive(patience_ms, mine)) return -1;
  }
  return lasted;
}

void ask() {
  join("source");
  End end("there", "back");
  int ready = 0;
  while (ready < ready_rounds && round_trip(end, ready_ms) < 0) ready++;
  require(ready < ready_rounds, "reach the other end");
  for (size_t round = 0; round < rounds; round++) {
    took[round] = round_trip(end, lost_ms);
    require(took[round] >= 0, "get a message back");
  }
  end.send([](void* chunk) { write_head(chunk, -1); });
}

}  // namespace

int main(int count, char** words) {
  require(count == 4, "start without BYTES ROUNDS CORES");
  prepare(words + 1);
  const pid_t other = other_process();
  if (other == 0) return relay();
  ask();
  waitpid(other, nullptr, 0);
  tell_median();
}
