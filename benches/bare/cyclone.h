// Common parts of the bare programs over Cyclone DDS: a second process answers each sample on one topic with a sample
// on another topic; reliable, volatile, over the loopback device. The program that includes this header first defines
// the message: the type `sample`, its description `described` for the library, the history (`DEPTH`), and the functions
// that are declared right below.
//
// The program works like a ring of hopmeter: a separate thread sends and waits for the answer, and waiting returns
// after 100 ms to check the time. Each arrival is recorded with two clock readings. Each process has its own session,
// because the scheduler may divide a core between sessions.
#pragma once
#include <dds/dds.h>

#include "bare.h"

// The constant part of a message of `frame_bytes`, of which the header takes 64.
static void shape(sample* message);
static void stamp(sample* message, int64_t number, int64_t sent_ns);
static int64_t number_of(const sample* message);

enum { LOOK_MS = 100, LOOKS = 100 };

static const char* loopback =
    "<CycloneDDS><Domain id='any'><General><AllowMulticast>false</AllowMulticast>"
    "<Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces></General><Discovery>"
    "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers></Discovery></Domain></CycloneDDS>";

static dds_entity_t writer, reader, waitset;
static sample message, received;

static int take(void) {
  dds_sample_info_t info;
  void* into = &received;
  while (dds_take(reader, &into, &info, 1, 1) > 0) {
    if (info.valid_data) return 1;
  }
  return 0;
}

// A writer does not wait: if too many samples are unconfirmed, the program offers the sample again.
static void write_sample(const sample* what) {
  dds_return_t code;
  while ((code = dds_write(writer, what)) == DDS_RETCODE_TIMEOUT) sched_yield();
  require(code == 0, "write");
}

static void pass_on(void) {
  const int64_t arrived = now_ns();
  if (number_of(&received) < 0) return;
  write_sample(&received);
  note(number_of(&received), arrived);
}

static dds_qos_t* make_qos(void) {
  dds_qos_t* qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 0);
  dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, DEPTH);
  return qos;
}

static void watch(dds_entity_t participant) {
  waitset = dds_create_waitset(participant);
  dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS);
  require(dds_waitset_attach(waitset, reader, 0) == 0, "watch for samples");
}

// Without a callback, a wait set watches the reader.
static void open_ends(dds_domainid_t domain, const char* to, const char* from, dds_on_data_available_fn called) {
  require(dds_create_domain(domain, loopback) > 0, "open the domain");
  const dds_entity_t participant = dds_create_participant(domain, NULL, NULL);
  dds_qos_t* qos = make_qos();
  dds_listener_t* listener = dds_create_listener(NULL);
  if (called) dds_lset_data_available(listener, called);
  writer = dds_create_writer(participant, dds_create_topic(participant, described, to, NULL, NULL), qos, NULL);
  const dds_entity_t topic = dds_create_topic(participant, described, from, NULL, NULL);
  reader = dds_create_reader(participant, topic, qos, listener);
  require(writer > 0 && reader > 0, "make a writer and a reader");
  if (!called) watch(participant);
  dds_delete_listener(listener);
  dds_delete_qos(qos);
}

static int arrives(void) {
  if (take()) return 1;
  dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(LOOK_MS));
  return take();
}

static int arrives_and_is_noted(void) {
  if (!arrives()) return 0;
  note(number_of(&received), now_ns());
  return 1;
}

static void relay(void) {
  while (number_of(&received) >= 0) {
    if (arrives()) pass_on();
  }
}

// The time from the stamp until the message came back, or 0 if the message did not come back. A late answer to an
// earlier message is ignored: otherwise each late answer would trigger the next message, whose answer would also be
// late, and so on forever.
static int64_t round_trip(int looks, int (*comes)(void)) {
  const int64_t number = number_of(&message) + 1, sent_ns = now_ns();
  stamp(&message, number, sent_ns);
  write_sample(&message);
  while (looks > 0) {
    if (!comes())
      looks--;
    else if (number_of(&received) == number)
      return records[(recorded - 1) % rounds].arrived - sent_ns;
  }
  return 0;
}

// `comes` waits for at most the time of one look, and records the arrivals in that time.
static void measure(int (*comes)(void)) {
  shape(&message);
  for (int tries = 0; round_trip(1, comes) == 0;) require(tries++ < 200, "find the other process");
  for (size_t round = 0; round < rounds; round++) {
    require((took[round] = round_trip(LOOKS, comes)) > 0, "get the answer");
  }
  stamp(&message, -1, 0);
  write_sample(&message);  // the relay ends
  tell_median();
}
