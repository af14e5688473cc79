// A baseline with Cyclone DDS alone, with ROS 2's names and types: a second process answers each sensor_msgs/Image on
// one topic with an image on another topic; both use wait sets. The QoS is reliable and volatile with a history of ten,
// over the loopback device. `ros2wire DOMAIN BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A` or
// `A,B`, as in bare.h.
//
// The program works like a hopmeter ring: each wait times out after 100 ms to check the time, and each arrival is
// recorded with two timestamps.
#define _GNU_SOURCE
#include <dds/dds.h>

#include "bare.h"
#include "sensor_msgs.c"
#include "std_msgs.c"

enum { DEPTH = 10, LOOK_MS = 100, LOOKS = 100 };

static const char* loopback =
    "<CycloneDDS><Domain id='any'><General><AllowMulticast>false</AllowMulticast>"
    "<Interfaces><NetworkInterface address='127.0.0.1' multicast='false'/></Interfaces></General><Discovery>"
    "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers></Discovery></Domain></CycloneDDS>";

static dds_entity_t writer, reader, waitset;
static sensor_msgs_msg_dds__Image_ message, received;

// Fills in the constant part of a message of `frame_bytes`; the header counts as 64 bytes.
static void shape(void) {
  static char label[57], encoding[] = "rgb8";
  memset(label, 's', 56);
  message.header.frame_id = label;
  message.encoding = encoding;
  message.data._length = message.data._maximum = (uint32_t)(frame_bytes - 64);
  message.data._buffer = calloc(1, frame_bytes);
}

// Stamps the message. hopmeter's label contains the number, which is here in a field that is 0 in hopmeter's messages
// of this size.
static void stamp(int64_t number, int64_t sent_ns) {
  message.height = (uint32_t)number;
  message.header.stamp.sec = (int32_t)(sent_ns / 1000000000);
  message.header.stamp.nanosec = (uint32_t)(sent_ns % 1000000000);
}

static int64_t received_number(void) { return (int32_t)received.height; }

// Writes a sample. The writer never blocks: while too many samples are unacknowledged, the program tries again.
static void write_sample(const sensor_msgs_msg_dds__Image_* what) {
  dds_return_t code;
  while ((code = dds_write(writer, what)) == DDS_RETCODE_TIMEOUT) sched_yield();
  require(code == 0, "write");
}

static dds_qos_t* make_qos(void) {
  dds_qos_t* qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 0);
  dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, DEPTH);
  return qos;
}

static void open_ends(dds_domainid_t domain, const char* to, const char* from) {
  const dds_topic_descriptor_t* const described = &sensor_msgs_msg_dds__Image__desc;
  require(dds_create_domain(domain, loopback) > 0, "open the domain");
  const dds_entity_t participant = dds_create_participant(domain, NULL, NULL);
  dds_qos_t* qos = make_qos();
  writer = dds_create_writer(participant, dds_create_topic(participant, described, to, NULL, NULL), qos, NULL);
  reader = dds_create_reader(participant, dds_create_topic(participant, described, from, NULL, NULL), qos, NULL);
  require(writer > 0 && reader > 0, "make a writer and a reader");
  waitset = dds_create_waitset(participant);
  dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS);
  require(dds_waitset_attach(waitset, reader, 0) == 0, "watch for samples");
  dds_delete_qos(qos);
}

static int take(void) {
  dds_sample_info_t info;
  void* into = &received;
  while (dds_take(reader, &into, &info, 1, 1) > 0) {
    if (info.valid_data) return 1;
  }
  return 0;
}

static int arrives(void) {
  if (take()) return 1;
  dds_waitset_wait(waitset, NULL, 0, DDS_MSECS(LOOK_MS));
  return take();
}

static void relay(void) {
  while (received_number() >= 0) {
    if (!arrives()) continue;
    const int64_t arrived = now_ns();
    if (received_number() < 0) return;
    write_sample(&received);
    note(received_number(), arrived);
  }
}

// Returns the time from the stamp until the message came back, or 0 if the message did not come back. A late answer to
// an earlier message is ignored; otherwise, every further answer would also be late.
static int64_t round_trip(int looks) {
  const int64_t number = (int32_t)message.height + 1, sent_ns = now_ns();
  stamp(number, sent_ns);
  write_sample(&message);
  while (looks > 0) {
    if (!arrives()) {
      looks--;
      continue;
    }
    const int64_t arrived = now_ns();
    note(received_number(), arrived);
    if (received_number() == number) return arrived - sent_ns;
  }
  return 0;
}

static void measure(void) {
  shape();
  for (int tries = 0; round_trip(1) == 0;) require(tries++ < 200, "find the other process");
  for (size_t round = 0; round < rounds; round++) {
    require((took[round] = round_trip(LOOKS)) > 0, "get the answer");
  }
  stamp(-1, 0);
  write_sample(&message);  // tells the relay to exit
  tell_median();
}

int main(int count, char** words) {
  require(count == 5, "start without DOMAIN BYTES ROUNDS CORES");
  const dds_domainid_t domain = (dds_domainid_t)atoi(words[1]);
  prepare(words + 2);
  const pid_t other = other_process();
  if (other == 0) {
    open_ends(domain, "rt/back", "rt/there");
    relay();
  } else {
    open_ends(domain, "rt/there", "rt/back");
    measure();
    waitpid(other, NULL, 0);
  }
  return dds_delete(DDS_CYCLONEDDS_HANDLE);
}
