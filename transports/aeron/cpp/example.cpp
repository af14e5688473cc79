// Sends messages with Aeron. Start the media driver with `$AERON_ROOT/bin/aeronmd_s -Daeron.dir=ADDRESS`, then
// `example receive`, and then `example send`, each in its own terminal.
// Build: aeron="-isystem $AERON_ROOT/include/wrapper -isystem $AERON_ROOT/include/aeron -L$AERON_ROOT/lib"
// Build: c++ -std=c++20 -O2 example.cpp -o example $aeron -Wl,-rpath,$AERON_ROOT/lib -laeron
#include <Aeron.h>
#include <FragmentAssembler.h>
#include <concurrent/BackOffIdleStrategy.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

constexpr int PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
// The folder of the media driver.
const std::string ADDRESS = "/dev/shm/aeron-example";
// The channel: `ipc` or `udp`.
const std::string CHANNEL = "ipc";
const std::string ENDPOINT = "127.0.0.1:20121";
// Whether messages that fit into one fragment are written directly into the log buffer.
constexpr bool CLAIM = true;
// 0: the library's default.
constexpr int TERM_LENGTH = 0;
constexpr int MTU = 1408;
constexpr int STREAM = 1001, FRAGMENTS_PER_POLL = 10;
constexpr std::chrono::seconds PATIENCE{10};

using Clock = std::chrono::steady_clock;
using aeron::concurrent::AtomicBuffer, aeron::concurrent::BackoffIdleStrategy;

std::string channel() { return CHANNEL == "udp" ? "aeron:udp?endpoint=" + ENDPOINT + "|" : "aeron:ipc?"; }

// Waits until the media driver has answered.
auto await(auto&& find) {
  auto found = find();
  for (; !found; found = find()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return found;
}

// Sends one message. Returns false if there is no receiver, or if the log buffer is full.
bool send_one(aeron::ExclusivePublication& publication, std::vector<std::uint8_t>& payload) {
  if (!CLAIM || PAYLOAD_BYTES > publication.maxPayloadLength())
    return publication.offer(AtomicBuffer(payload.data(), payload.size())) > 0;
  aeron::concurrent::logbuffer::BufferClaim claim;
  if (publication.tryClaim(PAYLOAD_BYTES, claim) < 0) return false;
  claim.buffer().putBytes(claim.offset(), payload.data(), PAYLOAD_BYTES);
  claim.commit();
  return true;
}

void send(aeron::Aeron& client) {
  auto options = "mtu=" + std::to_string(MTU);
  if (TERM_LENGTH) options += "|term-length=" + std::to_string(TERM_LENGTH);
  const auto id = client.addExclusivePublication(channel() + options, STREAM);
  const auto publication = await([&] { return client.findExclusivePublication(id); });
  std::vector<std::uint8_t> payload(PAYLOAD_BYTES);
  const auto begin = Clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    const auto until = Clock::now() + PATIENCE;
    while (!send_one(*publication, payload)) {
      if (Clock::now() > until) {
        std::fputs("no receiver takes messages\n", stderr);
        std::exit(1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::printf("sent %d messages\n", COUNT);
}

void receive(aeron::Aeron& client) {
  const auto id = client.addSubscription(channel(), STREAM);
  const auto subscription = await([&] { return client.findSubscription(id); });
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  auto until = Clock::now() + PATIENCE;
  // The assembler joins the fragments of a message.
  aeron::FragmentAssembler assembler([&](AtomicBuffer&, auto, auto bytes, auto&) {
    count += bytes == PAYLOAD_BYTES;
    until = Clock::now() + PATIENCE;
  });
  auto assemble = assembler.handler();
  BackoffIdleStrategy idle;
  while (count < COUNT && Clock::now() < until) idle.idle(subscription->poll(assemble, FRAGMENTS_PER_POLL));
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  aeron::Context context;
  context.aeronDir(ADDRESS);
  const auto client = aeron::Aeron::connect(context);
  if (words > 1 && std::string(word[1]) == "send")
    send(*client);
  else
    receive(*client);
}
