// A baseline with libnats alone: each process publishes to one JetStream stream and consumes another. The second
// process publishes a copy of each message that it receives. `jetstream ADDRESS BYTES ROUNDS CORES` prints the median
// round trip in ns. CORES is `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <nats/nats.h>

#include "bare.h"

enum { PATIENCE_MS = 10000 };

static jsCtx* connect_to_broker(const char* address) {
  char url[128];
  natsOptions* options;
  natsConnection* connection;
  jsCtx* js;
  snprintf(url, sizeof url, "nats://%s", address);
  require(natsOptions_Create(&options) == NATS_OK, "make options");
  natsOptions_SetURL(options, url);
  natsOptions_SetSendAsap(options, true);
  require(natsConnection_Connect(&connection, options) == NATS_OK, "connect to nats-server");
  require(natsConnection_JetStream(&js, connection, NULL) == NATS_OK, "use JetStream");
  natsOptions_Destroy(options);
  return js;
}

static void create(jsCtx* js, const char* name) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  config.Name = name;
  config.Subjects = &name;
  config.SubjectsLen = 1;
  config.MaxBytes = 1 << 30;
  require(js_AddStream(NULL, js, &config, NULL, NULL) == NATS_OK, "create a stream");
}

static natsSubscription* consume(jsCtx* js, const char* name) {
  natsSubscription* subscription;
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = name;
  options.ManualAck = true;
  require(js_SubscribeSync(&subscription, js, name, NULL, &options, NULL) == NATS_OK, "create a consumer");
  return subscription;
}

static natsMsg* next(natsSubscription* messages) {
  natsMsg* message;
  require(natsSubscription_NextMsg(&message, messages, PATIENCE_MS) == NATS_OK, "receive");
  return message;
}

static void publish(jsCtx* js, const char* name, const char* frame) {
  require(js_Publish(NULL, js, name, frame, (int)frame_bytes, NULL, NULL) == NATS_OK, "publish");
}

static int pass_on(const char* address) {
  jsCtx* js = connect_to_broker(address);
  natsSubscription* there = consume(js, "there");
  char* copy = malloc(frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    natsMsg* message = next(there);
    memcpy(copy, natsMsg_GetData(message), frame_bytes);
    publish(js, "back", copy);
    natsMsg_Ack(message, NULL);
    natsMsg_Destroy(message);
  }
  return 0;
}

static void ask(jsCtx* js) {
  natsSubscription* back = consume(js, "back");
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    publish(js, "there", frame);
    natsMsg* message = next(back);
    took[round] = now_ns() - begun;
    natsMsg_Ack(message, NULL);
    natsMsg_Destroy(message);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  int begin[2];
  require(pipe(begin) == 0, "make a pipe");
  pid_t relay = other_process();
  if (relay == 0) {
    char word;
    require(read(begin[0], &word, 1) == 1, "hear when to begin");
    return pass_on(words[1]);
  }
  jsCtx* js = connect_to_broker(words[1]);
  create(js, "there");
  create(js, "back");
  require(write(begin[1], "!", 1) == 1, "say when to begin");
  ask(js);
  waitpid(relay, NULL, 0);
  tell_median();
  return 0;
}
