// Sends messages with NATS through its broker: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lnats
#include <nats/nats.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

constexpr int PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
constexpr const char* TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:4222";
constexpr int PATIENCE_MS = 10000;

void require(natsStatus status, const char* doing) {
  if (status == NATS_OK) return;
  std::fprintf(stderr, "%s: %s\n", doing, natsStatus_GetText(status));
  std::exit(1);
}

void send(natsConnection* connection) {
  const std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(natsConnection_Publish(connection, TOPIC, payload.data(), PAYLOAD_BYTES), "publish");
  }
  require(natsConnection_Flush(connection), "send what is queued");
  std::printf("sent %d messages\n", COUNT);
}

void receive(natsConnection* connection) {
  natsSubscription* subscription = nullptr;
  require(natsConnection_SubscribeSync(&subscription, connection, TOPIC), "subscribe");
  require(natsConnection_Flush(connection), "tell the broker of the subscription");
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  natsMsg* message = nullptr;
  while (count < COUNT && natsSubscription_NextMsg(&message, subscription, PATIENCE_MS) == NATS_OK) {
    count += natsMsg_GetDataLength(message) == PAYLOAD_BYTES;
    natsMsg_Destroy(message);
  }
  natsSubscription_Destroy(subscription);
  std::printf("received %d messages\n", count);
}

void call(natsConnection* connection) {
  const std::string payload(PAYLOAD_BYTES, '\0');
  natsMsg* reply = nullptr;
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(natsConnection_Request(&reply, connection, TOPIC, payload.data(), PAYLOAD_BYTES, PATIENCE_MS), "call");
    count += natsMsg_GetDataLength(reply) == PAYLOAD_BYTES;
    natsMsg_Destroy(reply);
  }
  std::printf("received %d replies\n", count);
}

void serve(natsConnection* connection) {
  natsSubscription* subscription = nullptr;
  require(natsConnection_SubscribeSync(&subscription, connection, TOPIC), "subscribe");
  require(natsConnection_Flush(connection), "tell the broker of the subscription");
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  natsMsg* request = nullptr;
  for (; count < COUNT && natsSubscription_NextMsg(&request, subscription, PATIENCE_MS) == NATS_OK; ++count) {
    // The server echoes the request as the reply.
    require(natsConnection_Publish(connection, natsMsg_GetReply(request), natsMsg_GetData(request),
                                   natsMsg_GetDataLength(request)),
            "reply");
    natsMsg_Destroy(request);
  }
  require(natsConnection_Flush(connection), "send what is queued");
  natsSubscription_Destroy(subscription);
  std::printf("answered %d calls\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  natsConnection* connection = nullptr;
  require(natsConnection_ConnectTo(&connection, ("nats://" + ADDRESS).c_str()), "connect");
  if (side == "call") call(connection);
  if (side == "serve") serve(connection);
  if (side == "send") send(connection);
  if (side == "receive") receive(connection);
  natsConnection_Destroy(connection);
  nats_Close();
}
