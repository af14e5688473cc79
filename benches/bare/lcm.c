// A baseline with LCM alone: the other process sends each message back on another channel; each channel has its own
// multicast group. `lcm PORT BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A` or `A,B`, as in
// bare.h.
#define _GNU_SOURCE
#include <lcm/lcm.h>

#include "bare.h"

enum { READY_ROUNDS = 1000, READY_MS = 10, LOST_MS = 5000, LOOK_MS = 100 };
static const char *THERE = "there", *BACK = "back";

typedef struct {
  lcm_t* back;
  int64_t number, came_ns;
} End;

// The two directions use different groups and ports, like two hopmeter links. On a shared port, a socket would receive
// the messages of all groups that its host has joined. The buffer has the size that hopmeter's adapter requests.
static lcm_t* open_group(int way, const char* port) {
  char url[96];
  snprintf(url, sizeof url, "udpm://239.255.76.%d:%d?ttl=0&recv_buf_size=4194304", 67 + way, atoi(port) + way);
  lcm_t* lcm = lcm_create(url);
  require(lcm != NULL, "open LCM (is there a route for multicast? `hopmeter doctor` says)");
  return lcm;
}

static void send_back(const lcm_recv_buf_t* message, const char* channel, void* end) {
  (void)channel;
  const int64_t arrived = now_ns();
  const head of = head_of(message->data, message->data_size);
  require(lcm_publish(((End*)end)->back, BACK, message->data, message->data_size) == 0, "send back");
  note(of.number, arrived);
}

static void take(const lcm_recv_buf_t* message, const char* channel, void* end) {
  (void)channel;
  End* mine = end;
  const int64_t arrived = now_ns();
  const head of = head_of(message->data, message->data_size);
  if (message->data_size != frame_bytes || of.number != mine->number) return;
  mine->came_ns = arrived - of.sent;
  note(of.number, arrived);
}

static int relay(const char* port) {
  lcm_t* there = open_group(0, port);
  End end = {.back = open_group(1, port)};
  require(lcm_subscribe(there, THERE, send_back, &end) != NULL, "subscribe");
  while (lcm_handle_timeout(there, LOOK_MS) >= 0) continue;
  return 2;
}

// Sends one message to the other process and back. Returns the duration, or -1 if the message was lost.
static int64_t round_trip(lcm_t* there, lcm_t* back, End* end, uint8_t* message, int patience_ms) {
  write_head(message, ++end->number);
  require(lcm_publish(there, THERE, message, (unsigned)frame_bytes) == 0, "send");
  for (end->came_ns = 0; !end->came_ns;) {
    if (lcm_handle_timeout(back, patience_ms) <= 0) return -1;
  }
  return end->came_ns;
}

static void ask(const char* port) {
  lcm_t *there = open_group(0, port), *back = open_group(1, port);
  End end = {0};
  uint8_t* message = calloc(1, frame_bytes);
  require(lcm_subscribe(back, BACK, take, &end) != NULL, "subscribe");
  int ready = 0;
  while (ready < READY_ROUNDS && round_trip(there, back, &end, message, READY_MS) < 0) ready++;
  require(ready < READY_ROUNDS, "reach the other end");
  for (size_t round = 0; round < rounds; round++) {
    took[round] = round_trip(there, back, &end, message, LOST_MS);
    require(took[round] >= 0, "get a message back");
  }
  free(message);
  lcm_destroy(there);
  lcm_destroy(back);
}

int main(int count, char** words) {
  require(count == 5, "start without PORT BYTES ROUNDS CORES");
  prepare(words + 2);
  pid_t other = other_process();
  if (other == 0) return relay(words[1]);
  ask(words[1]);
  kill(other, SIGKILL);
  waitpid(other, NULL, 0);
  tell_median();
  return 0;
}
