// Sends messages with LCM: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example $(pkg-config --cflags --libs lcm)
#include <chrono>
#include <cstdio>
#include <lcm/lcm-cpp.hpp>
#include <string>
#include <thread>

constexpr unsigned PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "udpm://239.255.76.67:7667?ttl=0";  // with ttl=1, messages reach the local network
constexpr int RECV_BUF_SIZE = 4194304;
constexpr int QUEUE = 30;
constexpr int PATIENCE_MS = 10000;

int send() {
  lcm::LCM lcm(ADDRESS);
  if (!lcm.good()) return 1;
  const std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    // LCM confirms nothing: messages sent too early or too fast are lost.
    lcm.publish(TOPIC, payload.data(), PAYLOAD_BYTES);
  }
  std::printf("sent %d messages\n", COUNT);
  return 0;
}

struct Receiver {
  int count = 0;
  void take(const lcm::ReceiveBuffer* message, const std::string&) { count += message->data_size == PAYLOAD_BYTES; }
};

int receive() {
  lcm::LCM lcm(ADDRESS + "&recv_buf_size=" + std::to_string(RECV_BUF_SIZE));
  if (!lcm.good()) return 1;
  Receiver receiver;
  lcm.subscribe(TOPIC, &Receiver::take, &receiver)->setQueueCapacity(QUEUE);
  std::puts("ready");
  std::fflush(stdout);
  while (receiver.count < COUNT && lcm.handleTimeout(PATIENCE_MS) > 0) continue;
  std::printf("received %d messages\n", receiver.count);
  return 0;
}

int main(int words, char** word) { return words > 1 && std::string(word[1]) == "send" ? send() : receive(); }
