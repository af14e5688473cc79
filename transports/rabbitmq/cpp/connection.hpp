/// One connection to RabbitMQ with one channel, as rabbitmq-c provides it: only one thread at a time may use it.
#pragma once

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>

#include <algorithm>
#include <span>
#include <string>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"

inline amqp_bytes_t bytes_of(std::span<const std::byte> bytes) {
  return {bytes.size(), const_cast<std::byte*>(bytes.data())};
}
inline amqp_bytes_t bytes_of(const std::string& text) { return bytes_of(std::as_bytes(std::span(text))); }
inline std::string text_of(amqp_bytes_t bytes) { return {static_cast<const char*>(bytes.bytes), bytes.len}; }

/// A message with its routing data, which is valid until the object is destroyed.
class Delivery {
 public:
  Delivery() = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() { amqp_destroy_envelope(&raw); }

  std::span<const std::byte> frame() const {
    return {static_cast<const std::byte*>(raw.message.body.bytes), raw.message.body.len};
  }

  amqp_envelope_t raw{};
};

class Connection {
 public:
  static constexpr amqp_channel_t channel = 1;

  explicit Connection(const hopmeter::Setup& setup) : raw_(amqp_new_connection()) {
    const auto broker = hopmeter::BrokerAddress::parse(setup.broker());
    auto* socket = raw_ ? amqp_tcp_socket_new(raw()) : nullptr;
    if (!socket) throw hopmeter::Error("connecting to RabbitMQ: out of memory");
    require(amqp_socket_open(socket, broker.place.host.c_str(), broker.place.port),
            "connecting to RabbitMQ at " + broker.text());
    const timeval patience{10, 0};
    amqp_set_rpc_timeout(raw(), &patience);
    const auto& user = broker.user.empty() ? "guest" : broker.user;
    const auto& password = broker.user.empty() ? "guest" : broker.password;
    require(amqp_login(raw(), "/", 0, setup.setting<int>("frame_max"), 0, AMQP_SASL_METHOD_PLAIN, user.c_str(),
                       password.c_str()),
            "logging in at RabbitMQ");
    amqp_channel_open(raw(), channel);
    require_reply("opening a channel");
  }

  ~Connection() { amqp_connection_close(raw(), AMQP_REPLY_SUCCESS); }

  amqp_connection_state_t raw() const { return raw_.get(); }

  /// Writes a message to the socket; rabbitmq-c copies its bytes into frames.
  void publish(const std::string& exchange, const std::string& key, std::span<const std::byte> frame,
               const amqp_basic_properties_t* properties = nullptr) const {
    require(amqp_basic_publish(raw(), channel, bytes_of(exchange), bytes_of(key), 0, 0, properties, bytes_of(frame)),
            "publishing to RabbitMQ");
  }

  /// Declares a queue that the broker deletes when its receiver disconnects, and returns the queue's name.
  std::string declare_queue(const std::string& name, bool durable) const {
    const auto* declared =
        amqp_queue_declare(raw(), channel, bytes_of(name), 0, durable, !durable, 1, amqp_empty_table);
    require_reply("declaring a queue");
    return text_of(declared->queue);
  }

  /// Starts receiving the messages of a queue. The broker sends at most `prefetch` unacknowledged messages; 0 means no
  /// limit.
  void consume(const std::string& queue, bool acknowledge, int prefetch) const {
    if (prefetch > 0) amqp_basic_qos(raw(), channel, 0, static_cast<std::uint16_t>(prefetch), 0);
    if (prefetch > 0) require_reply("limiting unacknowledged messages");
    amqp_basic_consume(raw(), channel, bytes_of(queue), amqp_empty_bytes, 0, !acknowledge, 0, amqp_empty_table);
    require_reply("subscribing at RabbitMQ");
  }

  /// Waits for the next message. Returns false after the timeout.
  bool receive(Delivery& delivery, hopmeter::Timeout timeout) const {
    amqp_maybe_release_buffers(raw());
    const auto us = std::max<hopmeter::Timeout::rep>(0, timeout.count() / 1000);
    const timeval limit{us / 1'000'000, us % 1'000'000};
    const auto reply = amqp_consume_message(raw(), &delivery.raw, &limit, 0);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) delivery.raw = {};  // the library has freed its parts
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION && reply.library_error == AMQP_STATUS_TIMEOUT) return false;
    require(reply, "receiving from RabbitMQ");
    return true;
  }

  void acknowledge(const Delivery& delivery) const {
    require(amqp_basic_ack(raw(), channel, delivery.raw.delivery_tag, 0), "acknowledging a message");
  }

  /// Waits until the broker has confirmed the last message.
  void wait_for_confirm() const {
    amqp_maybe_release_buffers(raw());
    amqp_frame_t frame;
    require(amqp_simple_wait_frame(raw(), &frame), "waiting for RabbitMQ's confirmation");
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
      throw hopmeter::Error("RabbitMQ did not confirm a message");
  }

  /// Throws an error if the last call that waits for the broker's answer failed.
  void require_reply(const std::string& doing) const { require(amqp_get_rpc_reply(raw()), doing); }

 private:
  static void require(int status, const std::string& doing) {
    if (status != AMQP_STATUS_OK) throw hopmeter::Error(doing + ": " + amqp_error_string2(status));
  }

  static void require(const amqp_rpc_reply_t& reply, const std::string& doing) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) require(reply.library_error, doing);
    const auto* closed = static_cast<const amqp_channel_close_t*>(reply.reply.decoded);
    const bool is_channel = reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD;
    const auto why =
        is_channel ? closed->reply_text : static_cast<const amqp_connection_close_t*>(reply.reply.decoded)->reply_text;
    throw hopmeter::Error(doing + ": " + text_of(why));
  }

  hopmeter::Resource<amqp_connection_state_t_, amqp_destroy_connection> raw_;
};
