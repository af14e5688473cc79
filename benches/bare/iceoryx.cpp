// iceoryx alone: a chunk on one topic, copied into a chunk of another by a second process. iceoryx BYTES ROUNDS CORES,
// with RouDi beside it: prints the median round trip in ns. CORES as in bare.h.
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

  void send(size_t bytes, auto&& write) {
    auto lent = out.loan(static_cast<uint32_t>(bytes), alignment).and_then([&](void* chunk) {
      write(chunk);
      out.publish(chunk);
    });
    require(!lent.has_error(), "get a chunk");
  }

  // Sleeps until a chunk is there; false where none came.
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

// Until a message says that it was never sent: RouDi wants its own back, so nobody is killed.
int relay(size_t bytes) {
  join("relay");
  End end("back", "there");
  for (bool ended = false; !ended;) {
    end.receive(lost_ms, [&](const void* came) {
      ended = *static_cast<const int64_t*>(came) == 0;
      if (!ended) end.send(bytes, [&](void* chunk) { memcpy(chunk, came, bytes); });
    });
  }
  return 0;
}

// One message there and back, and how long it took; -1 where it was lost on the way.
int64_t round_trip(End& end, size_t bytes, int patience_ms) {
  const auto sent_ns = now_ns();
  end.send(bytes, [&](void* chunk) { memcpy(chunk, &sent_ns, sizeof sent_ns); });
  for (bool came = false; !came;) {
    auto mine = [&](const void* chunk) { came = memcmp(chunk, &sent_ns, sizeof sent_ns) == 0; };
    if (!end.receive(patience_ms, mine)) return -1;
  }
  return now_ns() - sent_ns;
}

void ask(size_t bytes, size_t rounds, int64_t* took) {
  join("source");
  End end("there", "back");
  int ready = 0;
  while (ready < ready_rounds && round_trip(end, bytes, ready_ms) < 0) ready++;
  require(ready < ready_rounds, "reach the other end");
  for (size_t round = 0; round < rounds; round++) {
    took[round] = round_trip(end, bytes, lost_ms);
    require(took[round] >= 0, "get a message back");
  }
  end.send(bytes, [](void* chunk) { memset(chunk, 0, sizeof(int64_t)); });
}

}  // namespace

int main(int count, char** words) {
  require(count == 4, "start without BYTES ROUNDS CORES");
  const size_t bytes = strtoul(words[1], nullptr, 10), rounds = strtoul(words[2], nullptr, 10);
  pin(words[3]);
  auto* took = static_cast<int64_t*>(calloc(WARMUP + rounds, sizeof(int64_t)));
  const pid_t other = other_process();
  if (other == 0) return relay(bytes);
  ask(bytes, WARMUP + rounds, took);
  waitpid(other, nullptr, 0);
  tell_median(took, rounds);
}
