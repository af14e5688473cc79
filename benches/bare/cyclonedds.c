// Cyclone DDS alone: a ping on one topic, written back to another by a second process; reliable, volatile, the last
// one, with the messages of transports/cyclonedds, over the loopback device. cyclonedds WAY DOMAIN BYTES ROUNDS CORES:
// prints the median round trip in ns. WAY is `listener` or `waitset`. CORES as in bare.h.
//
// It works as a ring of hopmeter's has to: a thread of its own sends and waits for the answer, by listener until that
// has woken it; waiting gives up after 100 ms to look at the time; each arrival is recorded with two clock readings;
// each end has a session of its own, for the scheduler may share a core by sessions.
#define _GNU_SOURCE
#include <dds/dds.h>
#include <semaphore.h>

#include "bare.h"
#include "hopmeter.c"

enum { LOOK_MS = 100, LOOKS = 100 };

static const char* loopback =
    "<CycloneDDS><Domain id='any'><General><AllowMulticast>false</AllowMulticast>"
    "<Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces></General><Discovery>"
    "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers></Discovery></Domain></CycloneDDS>";

typedef struct {
  int64_t arrived, done;
} record;

static dds_entity_t writer, reader, waitset;
static message_Timing message, received;
static record* records;
static size_t recorded, room;
static int is_called;
static sem_t came;

static int taken(void) {
  dds_sample_info_t info;
  void* into = &received;
  while (dds_take(reader, &into, &info, 1, 1) > 0) {
    if (info.valid_data) return 1;
  }
  return 0;
}

static void note(int64_t arrived) {
  records[recorded % room] = (record){arrived, now_ns()};
  recorded++;
}

static void pass_on(void) {
  const int64_t arrived = now_ns();
  if (received.id < 0) return;
  require(dds_write(writer, &received) == 0, "pass on");
  note(arrived);
}

static void relay_called(dds_entity_t from, void* unused) {
  if (!taken()) return;
  pass_on();
  if (received.id < 0) sem_post(&came);
}

static void source_called(dds_entity_t from, void* unused) {
  if (!taken()) return;
  note(now_ns());
  sem_post(&came);
}

static dds_qos_t* settled(void) {
  dds_qos_t* qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 0);
  dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
  return qos;
}

static void open_ends(dds_domainid_t domain, const char* to, const char* from, dds_on_data_available_fn called) {
  require(dds_create_domain(domain, loopback) > 0, "open the domain");
  const dds_entity_t participant = dds_create_participant(domain, NULL, NULL);
  dds_qos_t* qos = settled();
  dds_listener_t* listener = dds_create_listener(NULL);
  if (is_called) dds_lset_data_available(listener, called);
  writer =
      dds_create_writer(participant, dds_create_topic(participant, &message_Timing_desc, to, NULL, NULL), qos, NULL);
  const dds_entity_t topic = dds_create_topic(participant, &message_Timing_desc, from, NULL, NULL);
  reader = dds_create_reader(participant, topic, qos, listener);
  waitset = dds_create_waitset(participant);
  require(writer > 0 && reader > 0 && waitset > 0, "make a writer and a reader");
  if (!is_called) dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS);
  if (!is_called) require(dds_waitset_attach(waitset, reader, 0) == 0, "watch for samples");
  dds_delete_listener(listener);
  dds_delete_qos(qos);
}

static int woken(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_MS * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return sem_clockwait(&came, CLOCK_MONOTONIC, &until) == 0;
}

static int arrives(void) {
  if (taken()) return 1;
  dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(LOOK_MS));
  return taken();
}

static void relay(void) {
  while (received.id >= 0) {
    if (is_called) sem_wait(&came);
    if (!is_called && arrives()) pass_on();
  }
}

// The time from the stamp to the arrival of what was sent, or 0 where it did not come back.
static int64_t round_trip(int looks) {
  message.id++;
  message.nanosec = now_ns();
  require(dds_write(writer, &message) == 0, "send");
  while (looks-- > 0) {
    const int came_back = is_called ? woken() : arrives();
    if (came_back && !is_called) note(now_ns());
    if (came_back && received.id == message.id) return records[(recorded - 1) % room].arrived - message.nanosec;
  }
  return 0;
}

static void measure(size_t bytes, size_t rounds) {
  static char source[57];
  int64_t* took = calloc(WARMUP + rounds, sizeof *took);
  memset(source, 's', 56);
  message.source = source;
  message.padding._length = message.padding._maximum = (uint32_t)(bytes - 64);
  message.padding._buffer = calloc(1, bytes);
  for (int tries = 0; round_trip(1) == 0;) require(tries++ < 200, "find the other process");
  for (size_t round = 0; round < WARMUP + rounds; round++) {
    require((took[round] = round_trip(LOOKS)) > 0, "get the answer");
  }
  message.id = -1;
  dds_write(writer, &message);  // the relay ends
  tell_median(took, rounds);
}

int main(int count, char** words) {
  require(count == 6, "start without WAY DOMAIN BYTES ROUNDS CORES");
  is_called = strcmp(words[1], "listener") == 0;
  const dds_domainid_t domain = (dds_domainid_t)atoi(words[2]);
  const size_t bytes = strtoul(words[3], NULL, 10), rounds = strtoul(words[4], NULL, 10);
  pin(words[5]);
  room = WARMUP + rounds;
  records = calloc(room, sizeof *records);
  sem_init(&came, 0, 0);
  const pid_t other = other_process();
  open_ends(domain, other ? "there" : "back", other ? "back" : "there", other ? source_called : relay_called);
  if (other == 0) {
    relay();
  } else {
    measure(bytes, rounds);
    waitpid(other, NULL, 0);
  }
  return dds_delete(DDS_CYCLONEDDS_HANDLE);
}
