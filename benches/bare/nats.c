// A baseline with libnats alone: one process sends requests through nats-server, and the other process answers each
// with a copy. Requests are sent immediately instead of with the next batch. `nats ADDRESS BYTES ROUNDS CORES` prints
// the median round trip in ns. CORES is `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <nats/nats.h>

#include "bare.h"

enum { PATIENCE_MS = 10000 };

static natsConnection* connect_to_broker(const char* address) {
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

static natsSubscription* subscribe_to(natsConnection* connection, const char* subject) {
  natsSubscription* subscription;
  require(natsConnection_SubscribeSync(&subscription, connection, subject) == NATS_OK, "subscribe");
  require(natsConnection_Flush(connection) == NATS_OK, "tell of a subscription");
  return subscription;
}

static int serve(const char* address) {
  natsConnection* connection = connect_to_broker(address);
  natsSubscription* requests = subscribe_to(connection, "bench");
  natsMsg* request;
  char* reply = malloc(frame_bytes);
  natsConnection_PublishString(connection, "ready", "");
  for (size_t round = 0; round < rounds; round++) {
    require(natsSubscription_NextMsg(&request, requests, PATIENCE_MS) == NATS_OK, "receive a request");
    memcpy(reply, natsMsg_GetData(request), frame_bytes);
    natsConnection_Publish(connection, natsMsg_GetReply(request), reply, (int)frame_bytes);
    natsMsg_Destroy(request);
  }
  natsConnection_Flush(connection);
  return 0;
}

static void ask(natsConnection* connection) {
  natsSubscription* replies = subscribe_to(connection, "bench.reply");
  natsMsg* reply;
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    natsConnection_PublishRequest(connection, "bench", "bench.reply", frame, (int)frame_bytes);
    require(natsSubscription_NextMsg(&reply, replies, PATIENCE_MS) == NATS_OK, "receive a reply");
    took[round] = now_ns() - begun;
    natsMsg_Destroy(reply);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  int begin[2];
  require(pipe(begin) == 0, "make a pipe");
  pid_t server = other_process();
  if (server == 0) {
    char word;
    require(read(begin[0], &word, 1) == 1, "hear when to begin");
    return serve(words[1]);
  }
  natsConnection* connection = connect_to_broker(words[1]);
  natsSubscription* ready = subscribe_to(connection, "ready");
  natsMsg* come;
  require(write(begin[1], "!", 1) == 1, "say when to begin");
  require(natsSubscription_NextMsg(&come, ready, PATIENCE_MS) == NATS_OK, "hear that the server is ready");
  ask(connection);
  waitpid(server, NULL, 0);
  tell_median();
  return 0;
}
