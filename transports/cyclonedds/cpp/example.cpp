// Sends messages with Cyclone DDS: start `example receive`, then `example send` in a second terminal.
// Build: idlc example.idl
// Build: cc -O2 -c example.c -o idl.o
// Build: c++ -std=c++20 -O2 example.cpp idl.o -o example -lddsc
#include <dds/dds.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "example.h"

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
constexpr const char* TOPIC = "messages";
const std::string RELIABILITY = "reliable";  // or best-effort
const std::string HISTORY = "keep-last";     // or keep-all: if the queue is full, the writer waits
constexpr int DEPTH = 10;
constexpr dds_duration_t PATIENCE = DDS_SECS(10);
constexpr dds_domainid_t DOMAIN = 7;
// Restricts discovery to this machine, without multicast. By default, DDS searches the whole network for peers.
constexpr const char* LOOPBACK =
    "<CycloneDDS><Domain id='any'><General><AllowMulticast>false</AllowMulticast>"
    "<Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces></General><Discovery>"
    "<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address='127.0.0.1'/></Peers></Discovery></Domain>"
    "</CycloneDDS>";

dds_entity_t require(dds_entity_t code, const char* doing) {
  if (code >= 0) return code;
  std::fprintf(stderr, "%s: %s\n", doing, dds_strretcode(code));
  std::exit(1);
}

dds_qos_t* quality() {
  dds_qos_t* qos = dds_create_qos();
  dds_qset_reliability(qos, RELIABILITY == "reliable" ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                       PATIENCE);
  dds_qset_history(qos, HISTORY == "keep-last" ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, DEPTH);
  return qos;
}

void send(dds_entity_t participant, dds_entity_t topic) {
  const dds_entity_t writer = require(dds_create_writer(participant, topic, quality(), nullptr), "make a writer");
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(PATIENCE);
  while (dds_get_matched_subscriptions(writer, nullptr, 0) == 0) {  // earlier samples would be lost
    if (std::chrono::steady_clock::now() > until) require(DDS_RETCODE_TIMEOUT, "find a receiver");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::vector<unsigned char> payload(PAYLOAD_BYTES);
  Message message{};
  message.data._buffer = payload.data();
  message.data._length = message.data._maximum = PAYLOAD_BYTES;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(dds_write(writer, &message), "write");
  }
  require(dds_wait_for_acks(writer, PATIENCE), "wait until the receiver has all messages");
  std::printf("sent %d messages\n", COUNT);
}

void receive(dds_entity_t participant, dds_entity_t topic) {
  const dds_entity_t reader = require(dds_create_reader(participant, topic, quality(), nullptr), "make a reader");
  dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS);
  const dds_entity_t waiting = dds_create_waitset(participant);
  dds_waitset_attach(waiting, reader, 0);
  std::puts("ready");
  std::fflush(stdout);
  int count = 0;
  while (count < COUNT && dds_waitset_wait(waiting, nullptr, 0, PATIENCE) > 0) {
    void* sample = nullptr;
    dds_sample_info_t info;
    while (dds_take(reader, &sample, &info, 1, 1) > 0) {
      count += info.valid_data && static_cast<Message*>(sample)->data._length == PAYLOAD_BYTES;
      dds_return_loan(reader, &sample, 1);
    }
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  require(dds_create_domain(DOMAIN, LOOPBACK), "open the domain");
  const dds_entity_t participant = require(dds_create_participant(DOMAIN, nullptr, nullptr), "take part");
  const dds_entity_t topic = require(dds_create_topic(participant, &Message_desc, TOPIC, nullptr, nullptr), "name");
  words > 1 && std::string(word[1]) == "send" ? send(participant, topic) : receive(participant, topic);
  dds_delete(DDS_CYCLONEDDS_HANDLE);
}
