// A baseline with hiredis alone: each process publishes to one channel and subscribes to another, over separate
// connections. The other process publishes each message that it receives. `redis HOST:PORT BYTES ROUNDS CORES` prints
// the median round trip in ns. CORES is `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <hiredis/hiredis.h>

#include "bare.h"

static redisContext* connect_to_broker(const char* address) {
  char host[64];
  int port = 0;
  require(sscanf(address, "%63[^:]:%d", host, &port) == 2, "understand the address");
  redisContext* context = redisConnect(host, port);
  require(context && !context->err, "connect to redis-server");
  return context;
}

static redisContext* subscribe_to(const char* address, const char* channel) {
  redisContext* context = connect_to_broker(address);
  redisReply* reply = redisCommand(context, "SUBSCRIBE %s", channel);
  require(reply != NULL, "subscribe");
  freeReplyObject(reply);
  return context;
}

static long long publish(redisContext* context, const char* channel, const char* frame, size_t bytes) {
  redisReply* reply = redisCommand(context, "PUBLISH %s %b", channel, frame, bytes);
  require(reply && reply->type == REDIS_REPLY_INTEGER, "publish");
  long long receivers = reply->integer;
  freeReplyObject(reply);
  return receivers;
}

static redisReply* next(redisContext* context) {
  void* reply;
  require(redisGetReply(context, &reply) == REDIS_OK, "receive");
  return reply;
}

static int pass_on(const char* address) {
  redisContext *there = subscribe_to(address, "there"), *back = connect_to_broker(address);
  for (size_t round = 0; round < rounds; round++) {
    redisReply* message = next(there);
    publish(back, "back", message->element[2]->str, message->element[2]->len);
    freeReplyObject(message);
  }
  return 0;
}

static void ask(const char* address) {
  redisContext *back = subscribe_to(address, "back"), *there = connect_to_broker(address);
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    while (publish(there, "there", frame, frame_bytes) == 0) usleep(1000);  // the other process has not subscribed yet
    redisReply* message = next(back);
    took[round] = now_ns() - begun;
    freeReplyObject(message);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  pid_t relay = other_process();
  if (relay == 0) return pass_on(words[1]);
  ask(words[1]);
  waitpid(relay, NULL, 0);
  tell_median();
  return 0;
}
