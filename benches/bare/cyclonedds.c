// Cyclone DDS alone: a second process answers a ping on one topic with a message on another topic. It uses reliable,
// volatile quality, a history of one and the messages of transports/cyclonedds, over the loopback device. cyclonedds
// WAY DOMAIN BYTES ROUNDS CORES prints the median round trip in ns. WAY is `listener` or `waitset`. CORES as in bare.h.
//
// cyclone.h explains the program; with a listener, the thread that sends waits until the listener wakes it.
#define _GNU_SOURCE
#include <semaphore.h>

#include "hopmeter.c"

enum { DEPTH = 1 };
typedef message_Timing sample;
static const dds_topic_descriptor_t* const described = &message_Timing_desc;

#include "cyclone.h"

static sem_t came;

static void shape(sample* message) {
  static char source[57];
  memset(source, 's', 56);
  message->source = source;
  message->padding._length = message->padding._maximum = (uint32_t)(frame_bytes - 64);
  message->padding._buffer = calloc(1, frame_bytes);
}

static void stamp(sample* message, int64_t number, int64_t sent_ns) {
  message->id = number;
  message->nanosec = sent_ns;
}

static int64_t number_of(const sample* message) { return message->id; }

static void relay_called(dds_entity_t from, void* unused) {
  if (!take()) return;
  pass_on();
  if (number_of(&received) < 0) sem_post(&came);
}

static void source_called(dds_entity_t from, void* unused) {
  if (!take()) return;
  note(number_of(&received), now_ns());
  sem_post(&came);
}

static int wait_for_listener(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_MS * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return sem_clockwait(&came, CLOCK_MONOTONIC, &until) == 0;
}

int main(int count, char** words) {
  require(count == 6, "start without WAY DOMAIN BYTES ROUNDS CORES");
  const int is_called = strcmp(words[1], "listener") == 0;
  const dds_domainid_t domain = (dds_domainid_t)atoi(words[2]);
  prepare(words + 3);
  sem_init(&came, 0, 0);
  const pid_t other = other_process();
  if (other == 0) {
    open_ends(domain, "back", "there", is_called ? relay_called : NULL);
    is_called ? (void)sem_wait(&came) : relay();
  } else {
    open_ends(domain, "there", "back", is_called ? source_called : NULL);
    measure(is_called ? wait_for_listener : arrives_and_is_noted);
    waitpid(other, NULL, 0);
  }
  return dds_delete(DDS_CYCLONEDDS_HANDLE);
}
