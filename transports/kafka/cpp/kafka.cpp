/// The adapter for Kafka with librdkafka: topics of one partition. ../README.md describes the wire format.
///
/// Every link end has its own producer or consumer, each with threads of librdkafka.
#include <librdkafka/rdkafkacpp.h>

#include <algorithm>
#include <thread>

#include "hopmeter/draft.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;

namespace {

constexpr std::size_t default_message_bytes = 1'000'000;
constexpr std::size_t batch_overhead_bytes = 65'536;  // more than the bytes that Kafka adds to a message
constexpr int partition = 0;
constexpr int patience_ms = 10'000;
constexpr std::chrono::milliseconds look{20};

void require(RdKafka::ErrorCode code, const std::string& doing) {
  if (code != RdKafka::ERR_NO_ERROR) throw Error(doing + ": " + RdKafka::err2str(code));
}

/// The properties of a client.
class Config {
 public:
  /// Sets the properties with which a client connects to the broker.
  explicit Config(const Setup& setup) : setup_(setup) {
    const auto broker = BrokerAddress::parse(setup.broker());
    set("bootstrap.servers", broker.text());
    if (broker.user.empty()) return;
    set("security.protocol", "SASL_PLAINTEXT");
    set("sasl.mechanism", "PLAIN");
    set("sasl.username", broker.user);
    set("sasl.password", broker.password);
  }

  void set(const std::string& property, const std::string& value) {
    if (raw_->set(property, value, error_) != RdKafka::Conf::CONF_OK)
      throw Error("setting " + property + ": " + error_);
  }
  void set_number(const char* setting, const std::string& property) {
    set(property, std::to_string(setup_.setting<std::int64_t>(setting)));
  }
  void set_text(const char* setting, const std::string& property) {
    set(property, setup_.setting<std::string>(setting));
  }
  void set_bool(const char* setting, const std::string& property) {
    set(property, setup_.setting<bool>(setting) ? "true" : "false");
  }

  /// Creates a producer or a consumer with the properties.
  template <class Client>
  std::unique_ptr<Client> create() {
    std::unique_ptr<Client> client(Client::create(raw_.get(), error_));
    if (!client) throw Error("creating a client of Kafka: " + error_);
    return client;
  }

 private:
  Setup setup_;
  std::unique_ptr<RdKafka::Conf> raw_{RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL)};
  std::string error_;
};

/// Repeats an attempt until it succeeds, because a new topic takes some time to be usable.
void retry(const std::string& doing, const auto& attempt) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  for (auto code = attempt(); code != RdKafka::ERR_NO_ERROR; code = attempt()) {
    if (std::chrono::steady_clock::now() > deadline) require(code, doing);
    std::this_thread::sleep_for(look);
  }
}

/// Waits until the topic has a leader. The broker creates the topic when the first client asks for it.
void await_topic(RdKafka::Handle& client, const std::string& name) {
  std::string error;
  const std::unique_ptr<RdKafka::Topic> topic(RdKafka::Topic::create(&client, name, nullptr, error));
  if (!topic) throw Error("naming a topic: " + error);
  retry("opening a topic", [&] {
    RdKafka::Metadata* raw = nullptr;
    const auto asked = client.metadata(false, topic.get(), &raw, patience_ms);
    const std::unique_ptr<RdKafka::Metadata> found(raw);
    return asked != RdKafka::ERR_NO_ERROR ? asked : found->topics()->front()->err();
  });
}

class Pub final : public Publisher {
 public:
  Pub(const Setup& setup, const Link& link) : topic_(link.name) {
    Config config(setup);
    config.set_text("acks", "acks");
    config.set_number("linger_ms", "linger.ms");
    config.set_number("batch_size", "batch.size");
    config.set_text("compression", "compression.type");
    config.set_bool("idempotence", "enable.idempotence");
    config.set("message.max.bytes",
               std::to_string(std::max(default_message_bytes, link.frame_bytes + batch_overhead_bytes)));
    producer_ = config.create<RdKafka::Producer>();
    await_topic(*producer_, topic_);
  }

  /// Sends what is still queued. A broker that does not answer has no effect on the results.
  ~Pub() override { producer_->flush(patience_ms); }

  Sent send(std::size_t payload_bytes, Fill fill) override { return produce(draft_.write(payload_bytes, fill)); }

  Sent forward(const Received& received) override {
    return produce(received.require_native<std::span<const std::byte>>("Kafka"));
  }

 private:
  /// Queues a frame, which librdkafka copies, and lets librdkafka report the deliveries so far.
  Sent produce(std::span<const std::byte> frame) {
    const auto queued = producer_->produce(topic_, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                                           const_cast<std::byte*>(frame.data()), frame.size(), nullptr, 0, 0, nullptr);
    producer_->poll(0);
    if (queued == RdKafka::ERR__QUEUE_FULL) return Sent::busy;
    require(queued, "sending to Kafka");
    return Sent::accepted;
  }

  std::string topic_;
  std::unique_ptr<RdKafka::Producer> producer_;
  Draft draft_;
};

class Sub final : public Subscriber {
 public:
  /// Assigns the topic's partition to a new consumer, from the current end of the topic.
  Sub(const Setup& setup, const Link& link) : spins_(link.wait == Wait::spin) {
    Config config(setup);
    config.set_number("fetch_min_bytes", "fetch.min.bytes");
    config.set_number("fetch_wait_ms", "fetch.wait.max.ms");
    config.set("group.id", link.name);
    config.set("enable.auto.commit", "false");
    config.set("allow.auto.create.topics", "true");
    consumer_ = config.create<RdKafka::KafkaConsumer>();
    await_topic(*consumer_, link.name);
    std::int64_t begin = 0, end = 0;
    retry("asking for a topic's end",
          [&] { return consumer_->query_watermark_offsets(link.name, partition, &begin, &end, patience_ms); });
    const std::unique_ptr<RdKafka::TopicPartition> from(RdKafka::TopicPartition::create(link.name, partition, end));
    require(consumer_->assign({from.get()}), "assigning a partition");
  }

  ~Sub() override { consumer_->close(); }

  std::size_t poll(Timeout timeout, Take take) override {
    const auto limit =
        spins_ ? std::chrono::milliseconds::zero() : std::chrono::ceil<std::chrono::milliseconds>(timeout);
    const std::unique_ptr<RdKafka::Message> message(consumer_->consume(static_cast<int>(limit.count())));
    if (message->err() == RdKafka::ERR__TIMED_OUT) return 0;
    require(message->err(), "receiving from Kafka");
    const std::span frame(static_cast<const std::byte*>(message->payload()), message->len());
    take(Received::split(frame).with_native(&frame));
    return 1;
  }

 private:
  bool spins_;
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
};

class Kafka final : public TransportOf<Setup, Pub, Sub> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return "librdkafka " + RdKafka::version_str(); }
  Facts facts() override { return {{"path", "TCP through Apache Kafka"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Kafka>(argc, argv); }
