// Sends messages through Redis: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lhiredis
#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
constexpr const char* TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:6379";
constexpr timeval PATIENCE = {10, 0};

redisContext* connect() {
  const auto colon = ADDRESS.find(':');
  redisContext* context = redisConnect(ADDRESS.substr(0, colon).c_str(), std::stoi(ADDRESS.substr(colon + 1)));
  if (context && !context->err) return context;
  std::fprintf(stderr, "cannot connect to %s\n", ADDRESS.c_str());
  std::exit(1);
}

void send(redisContext* context) {
  const std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    // Returns when the broker has received the message.
    freeReplyObject(redisCommand(context, "PUBLISH %s %b", TOPIC, payload.data(), payload.size()));
  }
  std::printf("sent %d messages\n", COUNT);
}

void receive(redisContext* context) {
  redisSetTimeout(context, PATIENCE);
  freeReplyObject(redisCommand(context, "SUBSCRIBE %s", TOPIC));  // the broker has confirmed the subscription
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  void* reply = nullptr;
  while (count < COUNT && redisGetReply(context, &reply) == REDIS_OK) {
    const auto* message = static_cast<redisReply*>(reply);  // elements: "message", the topic, the payload
    count += message->elements == 3 && message->element[2]->len == PAYLOAD_BYTES;
    freeReplyObject(reply);
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  redisContext* context = connect();
  words > 1 && std::string(word[1]) == "send" ? send(context) : receive(context);
  redisFree(context);
}
