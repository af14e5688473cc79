// Sends messages with nng: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lnng
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

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
constexpr int SEND_BUFFER = -1;  // the number of messages that a publisher queues; -1: nng decides
constexpr int RECEIVE_BUFFER = 128;
constexpr int PATIENCE_MS = 10000;

void require(int code, const char* doing) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: %s\n", doing, nng_strerror(code));
  std::exit(1);
}

// Waits until a socket's peer has closed, because a closing socket drops its queued messages.
class PeerClosed {
 public:
  explicit PeerClosed(nng_socket socket) {
    const auto notify = [](nng_pipe, nng_pipe_ev, void* promise) {
      static_cast<std::promise<void>*>(promise)->set_value();
    };
    nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, notify, &closed_);
  }
  void wait() { closed_.get_future().wait_for(std::chrono::milliseconds(PATIENCE_MS)); }

 private:
  std::promise<void> closed_;
};

void send() {
  nng_socket publisher;
  require(nng_pub0_open(&publisher), "open a socket");
  if (SEND_BUFFER >= 0) require(nng_socket_set_int(publisher, NNG_OPT_SENDBUF, SEND_BUFFER), "set the buffer");
  PeerClosed receiver(publisher);
  require(nng_dial(publisher, ADDRESS, nullptr, 0), "connect");
  std::string message = TOPIC + std::string(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(nng_send(publisher, message.data(), message.size(), 0), "send");
  }
  receiver.wait();
  nng_close(publisher);
  std::printf("sent %d messages\n", COUNT);
}

// The receiver listens and the senders dial, because a dialling receiver would miss messages sent before it is
// connected.
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

void call() {
  nng_socket client;
  require(nng_req0_open(&client), "open a socket");
  require(nng_socket_set_ms(client, NNG_OPT_RECVTIMEO, PATIENCE_MS), "set the timeout");
  require(nng_socket_set_size(client, NNG_OPT_RECVMAXSZ, 0), "allow replies of any size");
  require(nng_dial(client, ADDRESS, nullptr, 0), "connect");
  std::string request(PAYLOAD_BYTES, '\0');
  nng_msg* reply = nullptr;
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(nng_send(client, request.data(), request.size(), 0), "send");
    require(nng_recvmsg(client, &reply, 0), "receive the reply");
    count += nng_msg_len(reply) == PAYLOAD_BYTES;
    nng_msg_free(reply);
  }
  nng_close(client);
  std::printf("received %d replies\n", count);
}

void serve() {
  nng_socket server;
  require(nng_rep0_open(&server), "open a socket");
  require(nng_socket_set_ms(server, NNG_OPT_RECVTIMEO, PATIENCE_MS), "set the timeout");
  require(nng_socket_set_size(server, NNG_OPT_RECVMAXSZ, 0), "allow requests of any size");
  PeerClosed client(server);
  require(nng_listen(server, ADDRESS, nullptr, 0), "listen");
  std::puts("ready");
  std::fflush(stdout);
  nng_msg* message = nullptr;
  int count = 0;
  for (; count < COUNT && nng_recvmsg(server, &message, 0) == 0; ++count)
    require(nng_sendmsg(server, message, 0), "reply");  // echoes the request as the reply
  client.wait();
  nng_close(server);
  std::printf("answered %d calls\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "call") return call(), 0;
  if (side == "serve") return serve(), 0;
  side == "send" ? send() : receive();
}
