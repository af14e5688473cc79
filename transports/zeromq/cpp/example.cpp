// Sends messages with ZeroMQ: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lzmq
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <zmq.hpp>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "ipc://@messages";  // a socket on this machine, without a file
constexpr int HWM = 1000;
constexpr bool NODROP = false;
constexpr int PATIENCE_MS = 10000;

int send(zmq::context_t& context) {
  zmq::socket_t publisher(context, zmq::socket_type::xpub);
  publisher.set(zmq::sockopt::sndhwm, HWM);
  publisher.set(zmq::sockopt::xpub_nodrop, NODROP);  // true: wait for room in the queue instead of dropping messages
  publisher.set(zmq::sockopt::rcvtimeo, PATIENCE_MS);
  publisher.bind(ADDRESS);
  zmq::message_t subscription;  // earlier messages are lost
  if (!publisher.recv(subscription)) {
    std::fputs("no receiver has subscribed\n", stderr);
    return 1;
  }
  const std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    publisher.send(zmq::buffer(TOPIC), zmq::send_flags::sndmore);
    publisher.send(zmq::buffer(payload), zmq::send_flags::none);
  }
  std::printf("sent %d messages\n", COUNT);
  return 0;
}

int receive(zmq::context_t& context) {
  zmq::socket_t subscriber(context, zmq::socket_type::sub);
  subscriber.set(zmq::sockopt::rcvhwm, HWM);
  subscriber.set(zmq::sockopt::rcvtimeo, PATIENCE_MS);
  subscriber.set(zmq::sockopt::subscribe, TOPIC);
  subscriber.connect(ADDRESS);
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  zmq::message_t topic, payload;
  while (count < COUNT && subscriber.recv(topic) && subscriber.recv(payload)) count += payload.size() == PAYLOAD_BYTES;
  std::printf("received %d messages\n", count);
  return 0;
}

int call(zmq::context_t& context) {
  zmq::socket_t client(context, zmq::socket_type::req);
  client.set(zmq::sockopt::linger, 0);
  client.set(zmq::sockopt::rcvtimeo, PATIENCE_MS);
  client.connect(ADDRESS);
  const std::string payload(PAYLOAD_BYTES, '\0');
  zmq::message_t reply;
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    client.send(zmq::buffer(payload), zmq::send_flags::none);
    if (!client.recv(reply)) break;  // no reply came in time
    count += reply.size() == PAYLOAD_BYTES;
  }
  std::printf("received %d replies\n", count);
  return 0;
}

int serve(zmq::context_t& context) {
  zmq::socket_t server(context, zmq::socket_type::rep);
  server.set(zmq::sockopt::rcvtimeo, PATIENCE_MS);
  server.bind(ADDRESS);
  std::puts("ready");
  std::fflush(stdout);
  zmq::message_t request;
  int count = 0;
  for (; count < COUNT && server.recv(request); ++count)
    server.send(request, zmq::send_flags::none);  // echoes the request as the reply
  std::printf("answered %d calls\n", count);
  return 0;
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  zmq::context_t context;
  if (side == "call") return call(context);
  if (side == "serve") return serve(context);
  return side == "send" ? send(context) : receive(context);
}
