// Sends messages with iceoryx2: start `example receive`, then `example send` in a second terminal.
// Build: iox2="-isystem $(echo $ICEORYX2_ROOT/include/iceoryx2/v*) -L$ICEORYX2_ROOT/lib -Wl,-rpath,$ICEORYX2_ROOT/lib"
// Build: c++ -std=c++20 -O2 example.cpp -o example $iox2 -liceoryx2_cxx -liceoryx2_ffi_c
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iox2/iceoryx2.hpp>
#include <string>
#include <thread>
#include <utility>

constexpr std::uint64_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
constexpr const char* TOPIC = "messages";
constexpr std::uint64_t BUFFER = 16;
// What happens if a buffer is full: drop_oldest, or busy (the sender tries again).
const std::string FULL = "drop_oldest";
constexpr std::chrono::seconds PATIENCE{10};

using Clock = std::chrono::steady_clock;
constexpr auto IPC = iox2::ServiceType::Ipc;
using Bytes = iox2::bb::Slice<std::uint8_t>;

// The service for messages, and the service for events that wake the receiver.
struct Services {
  iox2::Node<IPC> node = iox2::NodeBuilder().create<IPC>().value();
  iox2::ServiceName name = iox2::ServiceName::create(TOPIC).value();
  iox2::PortFactoryPublishSubscribe<IPC, Bytes, void> messages = node.service_builder(name)
                                                                     .publish_subscribe<Bytes>()
                                                                     .subscriber_max_buffer_size(BUFFER)
                                                                     .enable_safe_overflow(FULL == "drop_oldest")
                                                                     .open_or_create()
                                                                     .value();
  iox2::PortFactoryEvent<IPC> events = node.service_builder(name).event().open_or_create().value();
};

// Writes a message into shared memory. Returns the number of receivers that got the message.
std::size_t send_one(iox2::Publisher<IPC, Bytes, void>& publisher) {
  auto sample = publisher.loan_slice_uninit(PAYLOAD_BYTES).value();
  std::memset(sample.payload_mut().data(), 0, PAYLOAD_BYTES);
  return iox2::send(iox2::assume_init(std::move(sample))).value();
}

void send(Services& services) {
  auto publisher = services.messages.publisher_builder()
                       .initial_max_slice_len(PAYLOAD_BYTES)
                       .backpressure_strategy(iox2::BackpressureStrategy::DiscardData)
                       .create()
                       .value();
  auto notifier = services.events.notifier_builder().create().value();
  const auto begin = Clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    const auto until = Clock::now() + PATIENCE;
    // Repeats the send until a receiver has subscribed and has room.
    while (send_one(publisher) == 0) {
      if (Clock::now() > until) {
        std::fputs("no receiver takes messages\n", stderr);
        std::exit(1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    notifier.notify().value();
  }
  std::printf("sent %d messages\n", COUNT);
}

void receive(Services& services) {
  auto listener = services.events.listener_builder().create().value();
  auto subscriber = services.messages.subscriber_builder().create().value();
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  auto until = Clock::now() + PATIENCE;
  while (count < COUNT && Clock::now() < until) {
    listener.timed_wait([](const auto&) {}, iox2::bb::Duration::from_millis(100)).value();
    for (auto sample = subscriber.receive().value(); sample.has_value(); sample = subscriber.receive().value()) {
      count += sample->payload().number_of_elements() == PAYLOAD_BYTES;
      until = Clock::now() + PATIENCE;
    }
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  Services services;
  if (words > 1 && std::string(word[1]) == "send")
    send(services);
  else
    receive(services);
}
