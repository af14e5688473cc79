// librdkafka alone: a topic in each direction through Apache Kafka; the other process sends each message back.
// `kafka HOST:PORT BYTES ROUNDS CORES` prints the median round trip in ns, without lingering (linger.ms=0). CORES is
// `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <librdkafka/rdkafka.h>

#include "bare.h"

enum { PATIENCE_MS = 10000 };

static rd_kafka_t* client(rd_kafka_type_t type, const char* address, const char* name, const char* value) {
  char problem[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", address, problem, sizeof problem);
  rd_kafka_conf_set(conf, name, value, problem, sizeof problem);
  if (type == RD_KAFKA_CONSUMER) {
    rd_kafka_conf_set(conf, "enable.auto.commit", "false", problem, sizeof problem);
    rd_kafka_conf_set(conf, "allow.auto.create.topics", "true", problem, sizeof problem);
  } else {
    rd_kafka_conf_set(conf, "message.max.bytes", "70000000", problem, sizeof problem);
  }
  rd_kafka_t* made = rd_kafka_new(type, conf, problem, sizeof problem);
  require(made != NULL, "create a client");
  return made;
}

static void await_topic(rd_kafka_t* made, const char* name) {
  rd_kafka_topic_t* topic = rd_kafka_topic_new(made, name, NULL);
  for (int there = 0; !there; usleep(10000)) {
    const struct rd_kafka_metadata* found;
    require(rd_kafka_metadata(made, 0, topic, &found, PATIENCE_MS) == RD_KAFKA_RESP_ERR_NO_ERROR, "ask for a topic");
    there = found->topic_cnt == 1 && found->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_metadata_destroy(found);
  }
  rd_kafka_topic_destroy(topic);
}

static rd_kafka_t* producer(const char* address, const char* topic) {
  rd_kafka_t* made = client(RD_KAFKA_PRODUCER, address, "linger.ms", "0");
  await_topic(made, topic);
  return made;
}

// A consumer of the topic from its current end.
static rd_kafka_t* consumer(const char* address, const char* topic) {
  rd_kafka_t* made = client(RD_KAFKA_CONSUMER, address, "group.id", topic);
  await_topic(made, topic);
  rd_kafka_poll_set_consumer(made);
  int64_t begin, end;
  // The leader of a new topic takes some time to be ready.
  while (rd_kafka_query_watermark_offsets(made, topic, 0, &begin, &end, PATIENCE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
    usleep(10000);
  rd_kafka_topic_partition_list_t* from = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(from, topic, 0)->offset = end;
  require(rd_kafka_assign(made, from) == RD_KAFKA_RESP_ERR_NO_ERROR, "assign the partition");
  rd_kafka_topic_partition_list_destroy(from);
  return made;
}

static void produce(rd_kafka_t* made, const char* topic, void* frame, size_t bytes) {
  rd_kafka_resp_err_t queued =
      rd_kafka_producev(made, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                        RD_KAFKA_V_VALUE(frame, bytes), RD_KAFKA_V_END);
  require(queued == RD_KAFKA_RESP_ERR_NO_ERROR, "send");
  rd_kafka_poll(made, 0);
}

static rd_kafka_message_t* receive(rd_kafka_t* made) {
  rd_kafka_message_t* message = rd_kafka_consumer_poll(made, PATIENCE_MS);
  require(message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR, "receive");
  return message;
}

static void end(rd_kafka_t* sending, rd_kafka_t* receiving) {
  rd_kafka_flush(sending, PATIENCE_MS);
  rd_kafka_destroy(sending);
  rd_kafka_consumer_close(receiving);
  rd_kafka_destroy(receiving);
}

static int pass_on(const char* address, int ready) {
  rd_kafka_t *there = consumer(address, "there"), *back = producer(address, "back");
  require(write(ready, "!", 1) == 1, "say that it is ready");
  for (size_t round = 0; round < rounds; round++) {
    rd_kafka_message_t* message = receive(there);
    produce(back, "back", message->payload, message->len);
    rd_kafka_message_destroy(message);
  }
  end(back, there);
  return 0;
}

static void ask(rd_kafka_t* there, rd_kafka_t* back) {
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    produce(there, "there", frame, frame_bytes);
    rd_kafka_message_t* message = receive(back);
    took[round] = now_ns() - begun;
    rd_kafka_message_destroy(message);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  int ready[2];
  char word;
  require(pipe(ready) == 0, "make a pipe");
  pid_t relay = other_process();
  if (relay == 0) return pass_on(words[1], ready[1]);
  rd_kafka_t *back = consumer(words[1], "back"), *there = producer(words[1], "there");
  require(read(ready[0], &word, 1) == 1, "hear that the relay is ready");
  ask(there, back);
  end(there, back);
  waitpid(relay, NULL, 0);
  tell_median();
  return 0;
}
