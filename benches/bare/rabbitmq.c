// A baseline with rabbitmq-c alone: one process sends requests through RabbitMQ, and the other process answers each
// with a copy (direct reply-to). The server acknowledges each request. `rabbitmq HOST:PORT BYTES ROUNDS CORES` prints
// the median round trip in ns. CORES is `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>

#include "bare.h"

enum { CHANNEL = 1, FRAME_MAX = 131072 };
static const char* const REPLIES = "amq.rabbitmq.reply-to";

static amqp_connection_state_t connect_to_broker(const char* address) {
  char host[64];
  int port = 0;
  require(sscanf(address, "%63[^:]:%d", host, &port) == 2, "understand the address");
  amqp_connection_state_t connection = amqp_new_connection();
  require(amqp_socket_open(amqp_tcp_socket_new(connection), host, port) == 0, "connect to RabbitMQ");
  amqp_rpc_reply_t reply = amqp_login(connection, "/", 0, FRAME_MAX, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
  require(reply.reply_type == AMQP_RESPONSE_NORMAL, "log in");
  require(amqp_channel_open(connection, CHANNEL) != NULL, "open a channel");
  return connection;
}

static void consume(amqp_connection_state_t connection, const char* queue, int acknowledge) {
  require(amqp_basic_consume(connection, CHANNEL, amqp_cstring_bytes(queue), amqp_empty_bytes, 0, !acknowledge, 0,
                             amqp_empty_table) != NULL,
          "subscribe");
}

static void publish(amqp_connection_state_t connection, amqp_bytes_t to, const void* frame, const char* reply_to) {
  amqp_bytes_t body = {frame_bytes, (void*)frame};
  amqp_basic_properties_t properties = {0};
  if (reply_to) properties._flags = AMQP_BASIC_REPLY_TO_FLAG, properties.reply_to = amqp_cstring_bytes(reply_to);
  require(amqp_basic_publish(connection, CHANNEL, amqp_empty_bytes, to, 0, 0, &properties, body) == 0, "publish");
}

static amqp_envelope_t receive(amqp_connection_state_t connection) {
  const struct timeval patience = {10, 0};
  amqp_envelope_t message;
  amqp_maybe_release_buffers(connection);
  amqp_rpc_reply_t reply = amqp_consume_message(connection, &message, &patience, 0);
  require(reply.reply_type == AMQP_RESPONSE_NORMAL, "receive");
  return message;
}

static int serve(const char* address, int ready) {
  amqp_connection_state_t connection = connect_to_broker(address);
  require(amqp_queue_declare(connection, CHANNEL, amqp_cstring_bytes("bench"), 0, 0, 1, 1, amqp_empty_table) != NULL,
          "declare a queue");
  consume(connection, "bench", 1);
  require(write(ready, "!", 1) == 1, "say that it is ready");
  char* reply = malloc(frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    amqp_envelope_t request = receive(connection);
    memcpy(reply, request.message.body.bytes, frame_bytes);
    publish(connection, request.message.properties.reply_to, reply, NULL);
    amqp_basic_ack(connection, CHANNEL, request.delivery_tag, 0);
    amqp_destroy_envelope(&request);
  }
  amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
  return 0;
}

static void ask(amqp_connection_state_t connection) {
  char* frame = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    memcpy(frame, &begun, sizeof begun);
    publish(connection, amqp_cstring_bytes("bench"), frame, REPLIES);
    amqp_envelope_t reply = receive(connection);
    took[round] = now_ns() - begun;
    amqp_destroy_envelope(&reply);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  int ready[2];
  char word;
  require(pipe(ready) == 0, "make a pipe");
  pid_t server = other_process();
  if (server == 0) return serve(words[1], ready[1]);
  require(read(ready[0], &word, 1) == 1, "hear that the server is ready");
  amqp_connection_state_t connection = connect_to_broker(words[1]);
  consume(connection, REPLIES, 0);
  ask(connection);
  waitpid(server, NULL, 0);
  tell_median();
  return 0;
}
