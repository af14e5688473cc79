/// The adapter for RabbitMQ, with rabbitmq-c: messages pass through exchanges and queues of a broker. ../README.md
/// describes the wire format.
#include "connection.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;

namespace {

constexpr auto persistent_mode = 2;
const std::string default_exchange, replies_of_this_channel = "amq.rabbitmq.reply-to";

/// A link end with its own connection, because a connection of rabbitmq-c belongs to one thread.
class End {
 public:
  End(const Setup& setup, const Link& link)
      : spins_(link.wait == Wait::spin),
        acknowledges_(setup.setting<bool>("acknowledge")),
        prefetch_(setup.setting<int>("prefetch")),
        confirms_(setup.setting<bool>("confirms")),
        persistent_(setup.setting<bool>("persistent")),
        connection_(setup) {}

 protected:
  /// Declares the exchange of a link, which passes each message to all queues of its subscribers.
  void declare_exchange(const std::string& name) const {
    amqp_exchange_declare(connection_.raw(), Connection::channel, bytes_of(name), amqp_cstring_bytes("fanout"), 0,
                          persistent_, 0, 0, amqp_empty_table);
    connection_.require_reply("declaring an exchange");
  }

  /// Passes the next message to `handle`, and then acknowledges the message. Returns 0 after the timeout.
  std::size_t receive(Timeout timeout, const auto& handle) const {
    Delivery delivery;
    if (!connection_.receive(delivery, spins_ ? Timeout::zero() : timeout)) return 0;
    handle(delivery);
    if (acknowledges_) connection_.acknowledge(delivery);
    return 1;
  }

  bool spins_, acknowledges_;
  int prefetch_;
  bool confirms_, persistent_;
  Connection connection_;
  Draft draft_;
};

class Pub final : public Publisher, End {
 public:
  Pub(const Setup& setup, const Link& link) : End(setup, link), exchange_(link.name) {
    declare_exchange(exchange_);
    if (confirms_) amqp_confirm_select(connection_.raw(), Connection::channel);
    if (confirms_) connection_.require_reply("asking for confirmations");
    properties_._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties_.delivery_mode = persistent_mode;
  }

  Sent send(std::size_t payload_bytes, Fill fill) override { return publish(draft_.write(payload_bytes, fill)); }

  Sent forward(const Received& received) override {
    return publish(received.require_native<std::span<const std::byte>>("RabbitMQ"));
  }

 private:
  Sent publish(std::span<const std::byte> frame) const {
    connection_.publish(exchange_, {}, frame, persistent_ ? &properties_ : nullptr);
    if (confirms_) connection_.wait_for_confirm();
    return Sent::accepted;
  }

  std::string exchange_;
  amqp_basic_properties_t properties_{};
};

class Sub final : public Subscriber, End {
 public:
  Sub(const Setup& setup, const Link& link) : End(setup, link) {
    declare_exchange(link.name);
    const auto queue = connection_.declare_queue({}, persistent_);
    amqp_queue_bind(connection_.raw(), Connection::channel, bytes_of(queue), bytes_of(link.name), amqp_empty_bytes,
                    amqp_empty_table);
    connection_.require_reply("binding a queue");
    connection_.consume(queue, acknowledges_, prefetch_);
  }

  std::size_t poll(Timeout timeout, Take take) override {
    return receive(timeout, [&](const Delivery& delivery) {
      const auto frame = delivery.frame();
      take(Received::split(frame).with_native(&frame));
    });
  }
};

/// Receives requests in a queue with the link's name. Each request names the address of its reply.
class Responder final : public Server, public Replier, End {
 public:
  Responder(const Setup& setup, const Link& link) : End(setup, link) {
    connection_.consume(connection_.declare_queue(link.name, false), acknowledges_, prefetch_);
  }

  std::size_t poll(Timeout timeout, Handle handle) override {
    return receive(timeout, [&](const Delivery& delivery) {
      reply_to_ = text_of(delivery.raw.message.properties.reply_to);
      handle(Received::split(delivery.frame()), *this);
    });
  }

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    connection_.publish(default_exchange, reply_to_, draft_.write(payload_bytes, fill));
    return Sent::accepted;
  }

 private:
  std::string reply_to_;
};

/// Receives replies on the channel that sends the requests (RabbitMQ's direct reply-to). Replies are not acknowledged.
class Requester final : public Client, End {
 public:
  Requester(const Setup& setup, const Link& link) : End(setup, link), queue_(link.name) {
    acknowledges_ = false;
    connection_.consume(replies_of_this_channel, acknowledges_, 0);
    properties_._flags = AMQP_BASIC_REPLY_TO_FLAG;
    properties_.reply_to = bytes_of(replies_of_this_channel);
  }

  Sent start(std::size_t payload_bytes, Fill fill) override {
    connection_.publish(default_exchange, queue_, draft_.write(payload_bytes, fill), &properties_);
    return Sent::accepted;
  }

  std::size_t poll(Timeout timeout, Take take) override {
    return receive(timeout, [&](const Delivery& delivery) { take(Received::split(delivery.frame())); });
  }

 private:
  std::string queue_;
  amqp_basic_properties_t properties_{};
};

class RabbitMq final : public TransportOf<Setup, Pub, Sub, Responder, Requester> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return amqp_version(); }
  Facts facts() override { return {{"path", "TCP through RabbitMQ"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<RabbitMq>(argc, argv); }
