// Sends messages through RabbitMQ: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lrabbitmq
#include <amqp.h>
#include <amqp_tcp_socket.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
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
constexpr timeval PATIENCE = {10, 0};
const std::string REPLIES = "amq.rabbitmq.reply-to";
constexpr amqp_channel_t CHANNEL = 1;
using Connection = amqp_connection_state_t;

amqp_bytes_t bytes(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }

void require(bool good, const char* doing) {
  if (!good) throw std::runtime_error(std::string("cannot ") + doing);
}

Connection connect() {
  const auto colon = ADDRESS.find(':');
  const auto connection = amqp_new_connection();
  const auto port = std::stoi(ADDRESS.substr(colon + 1));
  require(amqp_socket_open(amqp_tcp_socket_new(connection), ADDRESS.substr(0, colon).c_str(), port) == 0, "connect");
  amqp_login(connection, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
  require(amqp_channel_open(connection, CHANNEL), "log in");
  return connection;
}

void publish(Connection connection, amqp_bytes_t exchange, amqp_bytes_t key, amqp_bytes_t payload,
             const amqp_basic_properties_t& properties) {
  require(amqp_basic_publish(connection, CHANNEL, exchange, key, 0, 0, &properties, payload) == 0, "publish");
}

bool receive_one(Connection connection, amqp_envelope_t& message) {
  amqp_maybe_release_buffers(connection);
  return amqp_consume_message(connection, &message, &PATIENCE, 0).reply_type == AMQP_RESPONSE_NORMAL;
}

// Passes up to COUNT messages to `handle`, and returns the number of those for which `handle` returned true.
int receive_from(Connection connection, amqp_bytes_t queue, auto handle) {
  amqp_basic_qos(connection, CHANNEL, 0, PREFETCH, 0);
  amqp_basic_consume(connection, CHANNEL, queue, amqp_empty_bytes, 0, !ACKNOWLEDGE, 0, amqp_empty_table);
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  for (amqp_envelope_t message; count < COUNT && receive_one(connection, message); amqp_destroy_envelope(&message)) {
    count += handle(message.message);
    if (ACKNOWLEDGE) amqp_basic_ack(connection, CHANNEL, message.delivery_tag, 0);
  }
  return count;
}

// Calls `publish_one` COUNT times at RATE_HZ.
void repeat(auto publish_one) {
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    publish_one(std::string(PAYLOAD_BYTES, '\0'));
  }
}

void send(Connection connection) {
  amqp_exchange_declare(connection, CHANNEL, bytes(TOPIC), bytes("fanout"), 0, PERSISTENT, 0, 0, amqp_empty_table);
  if (CONFIRMS) amqp_confirm_select(connection, CHANNEL);
  const amqp_basic_properties_t properties{._flags = AMQP_BASIC_DELIVERY_MODE_FLAG, .delivery_mode = 1 + PERSISTENT};
  repeat([&](const std::string& payload) {
    publish(connection, bytes(TOPIC), amqp_empty_bytes, bytes(payload), properties);
    amqp_frame_t confirmed;
    if (CONFIRMS) require(amqp_simple_wait_frame(connection, &confirmed) == 0, "wait for a confirmation");
  });
  std::printf("sent %d messages\n", COUNT);
}

void receive(Connection connection) {
  amqp_exchange_declare(connection, CHANNEL, bytes(TOPIC), bytes("fanout"), 0, PERSISTENT, 0, 0, amqp_empty_table);
  const auto* declared =
      amqp_queue_declare(connection, CHANNEL, amqp_empty_bytes, 0, PERSISTENT, !PERSISTENT, 1, amqp_empty_table);
  require(declared, "declare a queue");
  const auto queue = amqp_bytes_malloc_dup(declared->queue);
  require(amqp_queue_bind(connection, CHANNEL, queue, bytes(TOPIC), amqp_empty_bytes, amqp_empty_table), "bind");
  const int count = receive_from(connection, queue, [](auto& message) { return message.body.len == PAYLOAD_BYTES; });
  std::printf("received %d messages\n", count);
  amqp_bytes_free(queue);
}

void call(Connection connection) {
  amqp_basic_consume(connection, CHANNEL, bytes(REPLIES), amqp_empty_bytes, 0, 1, 0, amqp_empty_table);
  const amqp_basic_properties_t properties{._flags = AMQP_BASIC_REPLY_TO_FLAG, .reply_to = bytes(REPLIES)};
  int count = 0;
  repeat([&](const std::string& payload) {
    publish(connection, amqp_empty_bytes, bytes(TOPIC), bytes(payload), properties);
    amqp_envelope_t reply;
    require(receive_one(connection, reply), "receive a reply");
    count += reply.message.body.len == PAYLOAD_BYTES;
    amqp_destroy_envelope(&reply);
  });
  std::printf("received %d replies\n", count);
}

void serve(Connection connection) {
  require(amqp_queue_declare(connection, CHANNEL, bytes(TOPIC), 0, 0, 1, 1, amqp_empty_table), "declare a queue");
  const auto answer = [&](const amqp_message_t& request) {
    // The server echoes the request as the reply.
    publish(connection, amqp_empty_bytes, request.properties.reply_to, request.body, {});
    return true;
  };
  std::printf("answered %d calls\n", receive_from(connection, bytes(TOPIC), answer));
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  const auto connection = connect();
  (side == "call" ? call : side == "serve" ? serve : side == "send" ? send : receive)(connection);
  amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(connection);
}
