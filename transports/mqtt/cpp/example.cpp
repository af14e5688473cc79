// Sends messages with MQTT through its broker: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lmosquitto
#include <mosquitto.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

constexpr int PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
constexpr const char* TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:1883";
constexpr int QOS = 0;
constexpr auto PATIENCE = std::chrono::seconds(10);

int count = 0;
int published = 0;

void require(int code, const char* doing) {
  if (code == MOSQ_ERR_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", doing, mosquitto_strerror(code));
  std::exit(1);
}

void send(mosquitto* client) {
  mosquitto_publish_callback_set(client, [](mosquitto*, void*, int) { ++published; });
  const std::string payload(PAYLOAD_BYTES, '\0');
  auto due = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number, due += std::chrono::microseconds(static_cast<int>(1e6 / RATE_HZ))) {
    while (std::chrono::steady_clock::now() < due) require(mosquitto_loop(client, 1, 1), "exchange with the broker");
    require(mosquitto_publish(client, nullptr, TOPIC, PAYLOAD_BYTES, payload.data(), QOS, false), "publish");
  }
  while (published < COUNT) require(mosquitto_loop(client, 100, 1), "send what is queued");
  std::printf("sent %d messages\n", COUNT);
}

void receive(mosquitto* client) {
  mosquitto_subscribe_callback_set(client, [](mosquitto*, void*, int, int, const int*) {
    std::puts("ready");  // the broker has confirmed the subscription
    std::fflush(stdout);
  });
  mosquitto_message_callback_set(client, [](mosquitto*, void*, const mosquitto_message* message) {
    count += message->payloadlen == PAYLOAD_BYTES;
  });
  require(mosquitto_subscribe(client, nullptr, TOPIC, QOS), "subscribe");
  auto until = std::chrono::steady_clock::now() + PATIENCE;
  for (int before = 0; count < COUNT && std::chrono::steady_clock::now() < until; before = count) {
    require(mosquitto_loop(client, 100, 1), "receive");
    if (count > before) until = std::chrono::steady_clock::now() + PATIENCE;
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  mosquitto_lib_init();
  mosquitto* client = mosquitto_new(nullptr, true, nullptr);
  const auto colon = ADDRESS.find(':');
  const std::string host = ADDRESS.substr(0, colon);
  require(mosquitto_connect(client, host.c_str(), std::stoi(ADDRESS.substr(colon + 1)), 60), "connect");
  words > 1 && std::string(word[1]) == "send" ? send(client) : receive(client);
  mosquitto_disconnect(client);
  mosquitto_destroy(client);
  mosquitto_lib_cleanup();
}
