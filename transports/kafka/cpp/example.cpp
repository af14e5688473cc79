// Sends messages through Kafka: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lrdkafka++
#include <librdkafka/rdkafkacpp.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:9092";
const std::string ACKS = "all";
constexpr int LINGER_MS = 5;
constexpr int BATCH_SIZE = 1000000;
const std::string COMPRESSION = "none";
constexpr bool IDEMPOTENCE = false;
constexpr int FETCH_MIN_BYTES = 1;
constexpr int FETCH_WAIT_MS = 500;
constexpr int PATIENCE_MS = 10'000;

void require(RdKafka::ErrorCode code) {
  if (code != RdKafka::ERR_NO_ERROR) throw std::runtime_error(RdKafka::err2str(code));
}

template <class Client>
std::unique_ptr<Client> create(const std::map<std::string, std::string>& properties) {
  const std::unique_ptr<RdKafka::Conf> config(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
  std::string error;
  for (const auto& [name, value] : properties)
    if (config->set(name, value, error) != RdKafka::Conf::CONF_OK) throw std::runtime_error(error);
  std::unique_ptr<Client> client(Client::create(config.get(), error));
  if (!client) throw std::runtime_error(error);
  return client;
}

void send() {
  const auto producer = create<RdKafka::Producer>({{"bootstrap.servers", ADDRESS},
                                                   {"acks", ACKS},
                                                   {"linger.ms", std::to_string(LINGER_MS)},
                                                   {"batch.size", std::to_string(BATCH_SIZE)},
                                                   {"compression.type", COMPRESSION},
                                                   {"enable.idempotence", IDEMPOTENCE ? "true" : "false"}});
  std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(producer->produce(TOPIC, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY, payload.data(),
                              payload.size(), nullptr, 0, 0, nullptr));
    producer->poll(0);
  }
  require(producer->flush(PATIENCE_MS));
  std::printf("sent %d messages\n", COUNT);
}

// Returns the end of the topic. The broker creates the topic when the first client asks for it.
std::int64_t find_end(RdKafka::KafkaConsumer& consumer) {
  std::string error;
  const std::unique_ptr<RdKafka::Topic> topic(RdKafka::Topic::create(&consumer, TOPIC, nullptr, error));
  std::int64_t begin = 0, end = 0;
  while (true) {
    RdKafka::Metadata* found = nullptr;
    require(consumer.metadata(false, topic.get(), &found, PATIENCE_MS));
    delete found;
    if (consumer.query_watermark_offsets(TOPIC, 0, &begin, &end, PATIENCE_MS) == RdKafka::ERR_NO_ERROR) return end;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void receive() {
  const auto consumer = create<RdKafka::KafkaConsumer>({{"bootstrap.servers", ADDRESS},
                                                        {"group.id", "example"},
                                                        {"enable.auto.commit", "false"},
                                                        {"allow.auto.create.topics", "true"},
                                                        {"fetch.min.bytes", std::to_string(FETCH_MIN_BYTES)},
                                                        {"fetch.wait.max.ms", std::to_string(FETCH_WAIT_MS)}});
  const std::unique_ptr<RdKafka::TopicPartition> from(RdKafka::TopicPartition::create(TOPIC, 0, find_end(*consumer)));
  require(consumer->assign({from.get()}));
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  while (count < COUNT) {
    const std::unique_ptr<RdKafka::Message> message(consumer->consume(PATIENCE_MS));
    if (message->err() == RdKafka::ERR__TIMED_OUT) break;
    require(message->err());
    count += message->len() == PAYLOAD_BYTES;
  }
  consumer->close();
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  if (words > 1 && word[1] == std::string("send"))
    send();
  else
    receive();
}
