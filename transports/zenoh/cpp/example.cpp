// Sends messages with zenoh: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: zenoh="-DZENOHCXX_ZENOHC -I$ZENOH_ROOT/include -L$ZENOH_ROOT/lib -Wl,-rpath,$ZENOH_ROOT/lib"
// Build: c++ -std=c++20 -O2 example.cpp -o example $zenoh -lzenohc
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>
#include <zenoh.hxx>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "tcp/127.0.0.1:7447";
// What `put` does if the queue is full: drop or block.
const std::string CONGESTION = "drop";
constexpr bool EXPRESS = false;
constexpr std::size_t CHANNEL = 256;
constexpr std::chrono::seconds PATIENCE{10};

using Clock = std::chrono::steady_clock;

// Opens a session that listens or connects at ADDRESS, searches for no other peers and uses no shared memory.
zenoh::Session open_peer(const std::string& key) {
  auto config = zenoh::Config::create_default();
  config.insert_json5("scouting/multicast/enabled", "false");
  config.insert_json5("listen/endpoints", "[]");
  config.insert_json5("transport/shared_memory/enabled", "false");
  config.insert_json5(key, "[\"" + ADDRESS + "\"]");
  return zenoh::Session::open(std::move(config));
}

template <class Options>
Options with_quality() {
  Options options;
  options.congestion_control = CONGESTION == "block" ? Z_CONGESTION_CONTROL_BLOCK : Z_CONGESTION_CONTROL_DROP;
  options.is_express = EXPRESS;
  return options;
}

// Waits until the other side is known, because messages sent before then are lost.
void wait_for_peer(const auto& end) {
  const auto until = Clock::now() + PATIENCE;
  while (!end.get_matching_status().matching) {
    if (Clock::now() > until) {
      std::fprintf(stderr, "%s\n", "the other side does not answer");
      std::exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void send() {
  const auto session = open_peer("connect/endpoints");
  const auto publisher = session.declare_publisher(TOPIC, with_quality<zenoh::Session::PublisherOptions>());
  wait_for_peer(publisher);
  const auto begin = Clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    publisher.put(std::vector<std::uint8_t>(PAYLOAD_BYTES));
  }
  std::printf("sent %d messages\n", COUNT);
}

// Counts the messages that arrive on zenoh's threads, until all have arrived or none arrives for a while.
int count_all(std::counting_semaphore<>& arrivals) {
  int count = 0;
  while (count < COUNT && arrivals.try_acquire_for(PATIENCE)) ++count;
  return count;
}

void receive() {
  std::counting_semaphore<> arrivals{0};
  const auto session = open_peer("listen/endpoints");
  const auto take = [&](const zenoh::Sample& sample) {
    if (sample.get_payload().size() == PAYLOAD_BYTES) arrivals.release();
  };
  const auto subscriber = session.declare_subscriber(TOPIC, take, [] {});
  std::puts("ready");
  std::fflush(stdout);
  std::printf("received %d messages\n", count_all(arrivals));
}

void call() {
  const auto session = open_peer("connect/endpoints");
  auto options = with_quality<zenoh::Session::QuerierOptions>();
  options.timeout_ms = std::chrono::milliseconds(PATIENCE).count();
  const auto querier = session.declare_querier(TOPIC, std::move(options));
  wait_for_peer(querier);
  int count = 0;
  const auto begin = Clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    zenoh::Querier::GetOptions with;
    with.payload = std::vector<std::uint8_t>(PAYLOAD_BYTES);
    const auto replies = querier.get("", zenoh::channels::FifoChannel(CHANNEL), std::move(with));
    const auto received = replies.recv();
    const auto* reply = std::get_if<zenoh::Reply>(&received);
    count += reply && reply->is_ok() && reply->get_ok().get_payload().size() == PAYLOAD_BYTES;
  }
  std::printf("received %d replies\n", count);
}

void serve() {
  std::counting_semaphore<> arrivals{0};
  const auto session = open_peer("listen/endpoints");
  const auto answer = [&](const zenoh::Query& query) {
    query.reply(TOPIC, query.get_payload()->get().clone());  // echoes the request as the reply
    arrivals.release();
  };
  const auto queryable = session.declare_queryable(TOPIC, answer, [] {});
  std::puts("ready");
  std::fflush(stdout);
  std::printf("answered %d calls\n", count_all(arrivals));
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "call") call();
  if (side == "serve") serve();
  if (side == "send") send();
  if (side == "receive") receive();
}
