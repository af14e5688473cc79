// libnats alone: a request through nats-server, answered with a copy of what came; sent at once and not with the next
// batch. nats ADDRESS BYTES ROUNDS CORES: prints the median round trip in ns. CORES as in bare.h.
#define _GNU_SOURCE
#include <nats/nats.h>

#include "bare.h"

enum { PATIENCE_MS = 10000 };

static natsConnection* connected(const char* address) {
  char url[128];
  natsOptions* options;
  natsConnection* connection;
  snprintf(url, sizeof url, "nats://%s", address);
  require(natsOptions_Create(&options) == NATS_OK, "make options");
  natsOptions_SetURL(options, url);
  natsOptions_SetSendAsap(options, true);
  require(natsConnection_Connect(&connection, options) == NATS_OK, "connect to nats-server");
  natsOptions_Destroy(options);
  return connection;
}

static natsSubscription* subscribed(natsConnection* connection, const char* subject) {
  natsSubscription* subscription;
  require(natsConnection_SubscribeSync(&subscription, connection, subject) == NATS_OK, "subscribe");
  require(natsConnection_Flush(connection) == NATS_OK, "tell of a subscription");
  return subscription;
}

static int serve(const char* address, size_t rounds, size_t bytes) {
  natsConnection* connection = connected(address);
  natsSubscription* requests = subscribed(connection, "bench");
  natsMsg* request;
  char* reply = malloc(bytes);
  natsConnection_PublishString(connection, "ready", "");
  for (size_t round = 0; round < rounds; round++) {
    require(natsSubscription_NextMsg(&request, requests, PATIENCE_MS) == NATS_OK, "receive a request");
    memcpy(reply, natsMsg_GetData(request), bytes);
    natsConnection_Publish(connection, natsMsg_GetReply(request), reply, (int)bytes);
    natsMsg_Destroy(request);
  }
  natsConnection_Flush(connection);
  return 0;
}

static void ask(natsConnection* connection, size_t bytes, size_t rounds, int64_t* took) {
  natsSubscription* replies = subscribed(connection, "bench.reply");
  natsMsg* reply;
  char* frame = calloc(1, bytes);
  memset(frame, 1, bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    natsConnection_PublishRequest(connection, "bench", "bench.reply", frame, (int)bytes);
    require(natsSubscription_NextMsg(&reply, replies, PATIENCE_MS) == NATS_OK, "receive a reply");
    took[round] = now_ns() - begun;
    natsMsg_Destroy(reply);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  size_t bytes = strtoul(words[2], NULL, 10), rounds = strtoul(words[3], NULL, 10);
  pin(words[4]);
  int64_t* took = calloc(WARMUP + rounds, sizeof *took);
  int begin[2];
  require(pipe(begin) == 0, "make a pipe");
  pid_t server = other_process();
  if (server == 0) {
    char word;
    require(read(begin[0], &word, 1) == 1, "hear when to begin");
    return serve(words[1], WARMUP + rounds, bytes);
  }
  natsConnection* connection = connected(words[1]);
  natsSubscription* ready = subscribed(connection, "ready");
  natsMsg* come;
  require(write(begin[1], "!", 1) == 1, "say when to begin");
  require(natsSubscription_NextMsg(&come, ready, PATIENCE_MS) == NATS_OK, "hear that the server is ready");
  ask(connection, bytes, WARMUP + rounds, took);
  waitpid(server, NULL, 0);
  tell_median(took, rounds);
  return 0;
}
