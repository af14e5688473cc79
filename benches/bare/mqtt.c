// A baseline with libmosquitto alone: each of two processes has a publishing client and a subscribing client, and the
// other process publishes each message that it receives. `mqtt HOST:PORT BYTES ROUNDS CORES` prints the median round
// trip in ns. CORES is `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <mosquitto.h>

#include "bare.h"

enum { PATIENCE_MS = 10000 };

struct end {
  struct mosquitto *in, *out;
  const char* to;
  size_t received;
  int subscribed, passes_on;
};

static void publish(struct end* end, const void* frame, size_t bytes) {
  require(mosquitto_publish(end->out, NULL, end->to, (int)bytes, frame, 0, false) == 0, "publish");
  while (mosquitto_want_write(end->out)) require(mosquitto_loop_write(end->out, 1) == 0, "write");
}

static void on_message(struct mosquitto* in, void* self, const struct mosquitto_message* message) {
  struct end* end = self;
  (void)in;
  end->received++;
  if (end->passes_on) publish(end, message->payload, (size_t)message->payloadlen);
}

static void on_subscribe(struct mosquitto* in, void* self, int id, int count, const int* qos) {
  (void)in, (void)id, (void)count, (void)qos;
  ((struct end*)self)->subscribed = 1;
}

static struct mosquitto* connect_to_broker(const char* address, struct end* end) {
  char host[64];
  int port = 0;
  require(sscanf(address, "%63[^:]:%d", host, &port) == 2, "understand the address");
  struct mosquitto* client = mosquitto_new(NULL, true, end);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_message_callback_set(client, on_message);
  mosquitto_subscribe_callback_set(client, on_subscribe);
  require(mosquitto_connect(client, host, port, 600) == 0, "connect to mosquitto");
  require(mosquitto_loop(client, PATIENCE_MS, 1) == 0, "hear from mosquitto");
  return client;
}

static void open_end(struct end* end, const char* address, const char* from) {
  end->in = connect_to_broker(address, end);
  end->out = connect_to_broker(address, end);
  require(mosquitto_subscribe(end->in, NULL, from, 0) == 0, "subscribe");
  while (!end->subscribed) require(mosquitto_loop(end->in, PATIENCE_MS, 1) == 0, "hear from mosquitto");
}

static void receive(struct end* end, size_t until) {
  while (end->received < until) require(mosquitto_loop(end->in, PATIENCE_MS, 1) == 0, "receive");
}

static void ask(struct end* end) {
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    publish(end, frame, frame_bytes);
    receive(end, round + 1);
    took[round] = now_ns() - begun;
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  mosquitto_lib_init();
  int ready[2];
  char word;
  require(pipe(ready) == 0, "make a pipe");
  pid_t relay = other_process();
  struct end end = {.to = relay ? "there" : "back", .passes_on = relay == 0};
  open_end(&end, words[1], relay ? "back" : "there");
  if (relay == 0) {
    require(write(ready[1], "!", 1) == 1, "say that it is ready");
    receive(&end, rounds);
    return 0;
  }
  require(read(ready[0], &word, 1) == 1, "hear that the relay is ready");
  ask(&end);
  waitpid(relay, NULL, 0);
  tell_median();
  return 0;
}
