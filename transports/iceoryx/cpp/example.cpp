// Sends messages with iceoryx: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example -I$(echo /usr/include/iceoryx/v*) -liceoryx_posh -liceoryx_hoofs
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

constexpr std::uint32_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
constexpr int QUEUE = 256;
constexpr int PATIENCE_S = 10;

using iox::cxx::TruncateToCapacity;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(1);
}

iox::capro::ServiceDescription service() {
  return {"example", iox::capro::IdString_t(TruncateToCapacity, TOPIC.c_str()), "bytes"};
}

void send() {
  iox::popo::UntypedPublisher publisher(service());
  const auto until = Clock::now() + std::chrono::seconds(PATIENCE_S);
  while (!publisher.hasSubscribers()) {  // earlier messages are lost
    if (Clock::now() > until) fail("no receiver has subscribed");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto begin = Clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    publisher.loan(PAYLOAD_BYTES)
        .and_then([&](void* payload) {
          std::memset(payload, 0, PAYLOAD_BYTES);
          publisher.publish(payload);
        })
        .or_else([](auto) { fail("RouDi has no chunk that is free and large enough"); });
  }
  while (publisher.hasSubscribers() && Clock::now() < until + std::chrono::duration<double>(COUNT / RATE_HZ))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // wait until the receiver has all messages
  std::printf("sent %d messages\n", COUNT);
}

void receive() {
  iox::popo::SubscriberOptions options;
  options.queueCapacity = QUEUE;
  iox::popo::UntypedSubscriber subscriber(service(), options);
  iox::popo::WaitSet<> waits;
  waits.attachState(subscriber, iox::popo::SubscriberState::HAS_DATA).or_else([](auto) { fail("cannot wait"); });
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  while (count < COUNT && !waits.timedWait(iox::units::Duration::fromSeconds(PATIENCE_S)).empty()) {
    while (!subscriber.take()
                .and_then([&](const void* payload) {
                  count += iox::mepoo::ChunkHeader::fromUserPayload(payload)->userPayloadSize() == PAYLOAD_BYTES;
                  subscriber.release(payload);
                })
                .has_error()) {
    }
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t(TruncateToCapacity, (TOPIC + "-" + side).c_str()));
  side == "send" ? send() : receive();
}
