// Sends messages through RabbitMQ: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lrabbitmq
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:5672";
constexpr bool ACKNOWLEDGE = true;
constexpr int PREFETCH = 0;
constexpr bool CONFIRMS = false;
constexpr bool PERSISTENT = false;
constexpr int FRAME_MAX = 131072;
constexpr timeval PATIENCE = {10, 0};
const std::string REPLIES = "amq.rabbitmq.reply-to";
constexpr amqp_channel_t CHANNEL = 1;

amqp_bytes_t bytes(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }
std::string text(amqp_bytes_t found) { return {static_cast<const char*>(found.bytes), found.len}; }

void require(bool good, const char* doing) {
  if (good) return;
  std::fprintf(stderr, "cannot %s\n", doing);
  std::exit(1);
}

void require_reply(amqp_connection_state_t connection, const char* doing) {
  require(amqp_get_rpc_reply(connection).reply_type == AMQP_RESPONSE_NORMAL, doing);
}

amqp_connection_state_t connect() {
  const auto colon = ADDRESS.find(':');
  const auto connection = amqp_new_connection();
  auto* socket = amqp_tcp_socket_new(connection);
  require(amqp_socket_open(socket, ADDRESS.substr(0, colon).c_str(), std::stoi(ADDRESS.substr(colon + 1))) == 0,
          "connect");
  const auto reply = amqp_login(connection, "/", 0, FRAME_MAX, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
  require(reply.reply_type == AMQP_RESPONSE_NORMAL, "log in");
  amqp_channel_open(connection, CHANNEL);
  require_reply(connection, "open a channel");
  return connection;
}

void declare_exchange(amqp_connection_state_t connection) {
  amqp_exchange_declare(connection, CHANNEL, bytes(TOPIC), bytes("fanout"), 0, PERSISTENT, 0, 0, amqp_empty_table);
  require_reply(connection, "declare an exchange");
}

void consume(amqp_connection_state_t connection, const std::string& queue, bool acknowledge) {
  amqp_basic_qos(connection, CHANNEL, 0, PREFETCH, 0);
  amqp_basic_consume(connection, CHANNEL, bytes(queue), amqp_empty_bytes, 0, !acknowledge, 0, amqp_empty_table);
  require_reply(connection, "subscribe");
}

void publish(amqp_connection_state_t connection, const std::string& exchange, const std::string& key,
             amqp_bytes_t payload, const amqp_basic_properties_t& properties) {
  require(amqp_basic_publish(connection, CHANNEL, bytes(exchange), bytes(key), 0, 0, &properties, payload) == 0,
          "publish");
}

// Waits for the next message. The caller destroys it.
bool receive_one(amqp_connection_state_t connection, amqp_envelope_t& message) {
  amqp_maybe_release_buffers(connection);
  return amqp_consume_message(connection, &message, &PATIENCE, 0).reply_type == AMQP_RESPONSE_NORMAL;
}

void pause_until(std::chrono::steady_clock::time_point begin, int number) {
  std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
}

void send(amqp_connection_state_t connection) {
  declare_exchange(connection);
  if (CONFIRMS) amqp_confirm_select(connection, CHANNEL);
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = PERSISTENT ? 2 : 1;
  const std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    pause_until(begin, number);
    publish(connection, TOPIC, "", bytes(payload), properties);
    amqp_frame_t confirmed;
    if (CONFIRMS) require(amqp_simple_wait_frame(connection, &confirmed) == 0, "wait for a confirmation");
  }
  std::printf("sent %d messages\n", COUNT);
}

void receive(amqp_connection_state_t connection) {
  declare_exchange(connection);
  const auto* declared =
      amqp_queue_declare(connection, CHANNEL, amqp_empty_bytes, 0, PERSISTENT, !PERSISTENT, 1, amqp_empty_table);
  require_reply(connection, "declare a queue");
  const auto queue = text(declared->queue);
  amqp_queue_bind(connection, CHANNEL, bytes(queue), bytes(TOPIC), amqp_empty_bytes, amqp_empty_table);
  require_reply(connection, "bind a queue");
  consume(connection, queue, ACKNOWLEDGE);
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  for (amqp_envelope_t message; count < COUNT && receive_one(connection, message); amqp_destroy_envelope(&message)) {
    count += message.message.body.len == PAYLOAD_BYTES;
    if (ACKNOWLEDGE) amqp_basic_ack(connection, CHANNEL, message.delivery_tag, 0);
  }
  std::printf("received %d messages\n", count);
}

void call(amqp_connection_state_t connection) {
  consume(connection, REPLIES, false);
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_REPLY_TO_FLAG;
  properties.reply_to = bytes(REPLIES);
  const std::string payload(PAYLOAD_BYTES, '\0');
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    pause_until(begin, number);
    publish(connection, "", TOPIC, bytes(payload), properties);
    amqp_envelope_t reply;
    require(receive_one(connection, reply), "receive a reply");
    count += reply.message.body.len == PAYLOAD_BYTES;
    amqp_destroy_envelope(&reply);
  }
  std::printf("received %d replies\n", count);
}

void serve(amqp_connection_state_t connection) {
  amqp_queue_declare(connection, CHANNEL, bytes(TOPIC), 0, 0, 1, 1, amqp_empty_table);
  require_reply(connection, "declare a queue");
  consume(connection, TOPIC, ACKNOWLEDGE);
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  for (amqp_envelope_t request; count < COUNT && receive_one(connection, request); amqp_destroy_envelope(&request)) {
    // The reply is the request.
    publish(connection, "", text(request.message.properties.reply_to), request.message.body, {});
    if (ACKNOWLEDGE) amqp_basic_ack(connection, CHANNEL, request.delivery_tag, 0);
    ++count;
  }
  std::printf("answered %d calls\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  const auto connection = connect();
  if (side == "call") call(connection);
  if (side == "serve") serve(connection);
  if (side == "send") send(connection);
  if (side == "receive") receive(connection);
  amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(connection);
}
