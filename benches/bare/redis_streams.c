// A baseline with hiredis alone: each process appends to one Redis stream and reads another, over separate connections.
// The second process appends each message that it receives. `redis_streams HOST:PORT BYTES ROUNDS CORES` prints the
// median round trip in ns. CORES is `A` or `A,B`, as in bare.h.
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

static void append(redisContext* context, const char* stream, const char* frame, size_t bytes) {
  long long most = (1LL << 30) / (long long)bytes;
  redisReply* reply = redisCommand(context, "XADD %s MAXLEN ~ %lld * frame %b", stream, most, frame, bytes);
  require(reply && reply->type == REDIS_REPLY_STRING, "append");
  freeReplyObject(reply);
}

// Waits for the message after the one with the id `last`, and stores the id of the new message in `last`.
static redisReply* next(redisContext* context, const char* stream, char* last) {
  redisReply* reply = redisCommand(context, "XREAD BLOCK 10000 STREAMS %s %s", stream, last);
  require(reply && reply->type == REDIS_REPLY_ARRAY, "receive");
  strcpy(last, reply->element[0]->element[1]->element[0]->element[0]->str);
  return reply;
}

static redisReply* frame_of(redisReply* reply) {
  return reply->element[0]->element[1]->element[0]->element[1]->element[1];
}

static int pass_on(const char* address) {
  redisContext *there = connect_to_broker(address), *back = connect_to_broker(address);
  char last[64] = "0-0";
  for (size_t round = 0; round < rounds; round++) {
    redisReply* reply = next(there, "there", last);
    append(back, "back", frame_of(reply)->str, frame_of(reply)->len);
    freeReplyObject(reply);
  }
  return 0;
}

static void ask(const char* address) {
  redisContext *back = connect_to_broker(address), *there = connect_to_broker(address);
  char last[64] = "0-0";
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    append(there, "there", frame, frame_bytes);
    redisReply* reply = next(back, "back", last);
    took[round] = now_ns() - begun;
    freeReplyObject(reply);
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
