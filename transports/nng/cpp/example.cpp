// Sends messages with nng: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lnng
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
constexpr const char* ADDRESS = "ipc:///tmp/messages.nng";
constexpr int RECEIVE_BUFFER = 128;
constexpr int PATIENCE_MS = 10000;

void require(int code, const char* doing) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: %s\n", doing, nng_strerror(code));
  std::exit(1);
}

void send() {
  nng_socket publisher;
  require(nng_pub0_open(&publisher), "open a socket");
  std::promise<void> closed;
  nng_pipe_notify(
      publisher, NNG_PIPE_EV_REM_POST,
      [](nng_pipe, nng_pipe_ev, void* promise) { static_cast<std::promise<void>*>(promise)->set_value(); }, &closed);
  require(nng_dial(publisher, ADDRESS, nullptr, 0), "connect");
  std::string message = TOPIC + std::string(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(nng_send(publisher, message.data(), message.size(), 0), "send");
  }
  // Until the receiver has closed: a socket that closes drops what it has queued.
  closed.get_future().wait_for(std::chrono::milliseconds(PATIENCE_MS));
  nng_close(publisher);
  std::printf("sent %d messages\n", COUNT);
}

// Listens while others connect: a receiver that connects misses what is sent before.
void receive() {
  nng_socket subscriber;
  require(nng_sub0_open(&subscriber), "open a socket");
  require(nng_socket_set_ms(subscriber, NNG_OPT_RECVTIMEO, PATIENCE_MS), "set the timeout");
  require(nng_socket_set_int(subscriber, NNG_OPT_RECVBUF, RECEIVE_BUFFER), "set the buffer");
  require(nng_socket_set_size(subscriber, NNG_OPT_RECVMAXSZ, 0), "allow messages of any size");
  require(nng_socket_set(subscriber, NNG_OPT_SUB_SUBSCRIBE, TOPIC.data(), TOPIC.size()), "subscribe");
  require(nng_listen(subscriber, ADDRESS, nullptr, 0), "listen");
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  nng_msg* message = nullptr;
  while (count < COUNT && nng_recvmsg(subscriber, &message, 0) == 0) {
    count += nng_msg_len(message) == TOPIC.size() + PAYLOAD_BYTES;
    nng_msg_free(message);
  }
  nng_close(subscriber);
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) { words > 1 && std::string(word[1]) == "send" ? send() : receive(); }
