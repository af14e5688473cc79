// Cyclone DDS alone with ROS 2's names and types: a second process answers a sensor_msgs/Image on one topic with an
// image on another topic; both wait with wait sets. It uses reliable, volatile quality and a history of ten, over the
// loopback device. ros2wire DOMAIN BYTES ROUNDS CORES prints the median round trip in ns. CORES as in bare.h; cyclone.h
// explains the program.
#define _GNU_SOURCE
#include "sensor_msgs.c"
#include "std_msgs.c"

enum { DEPTH = 10 };
typedef sensor_msgs_msg_dds__Image_ sample;
static const dds_topic_descriptor_t* const described = &sensor_msgs_msg_dds__Image__desc;

#include "cyclone.h"

static void shape(sample* message) {
  static char label[57], encoding[] = "rgb8";
  memset(label, 's', 56);
  message->header.frame_id = label;
  message->encoding = encoding;
  message->data._length = message->data._maximum = (uint32_t)(frame_bytes - 64);
  message->data._buffer = calloc(1, frame_bytes);
}

// hopmeter's label contains the number; here the number is in a field that is otherwise 0, because the payload is no
// image.
static void stamp(sample* message, int64_t number, int64_t sent_ns) {
  message->height = (uint32_t)number;
  message->header.stamp.sec = (int32_t)(sent_ns / 1000000000);
  message->header.stamp.nanosec = (uint32_t)(sent_ns % 1000000000);
}

static int64_t number_of(const sample* message) { return (int32_t)message->height; }

int main(int count, char** words) {
  require(count == 5, "start without DOMAIN BYTES ROUNDS CORES");
  const dds_domainid_t domain = (dds_domainid_t)atoi(words[1]);
  prepare(words + 2);
  const pid_t other = other_process();
  if (other == 0) {
    open_ends(domain, "rt/back", "rt/there", NULL);
    relay();
  } else {
    open_ends(domain, "rt/there", "rt/back", NULL);
    measure(arrives_and_is_noted);
    waitpid(other, NULL, 0);
  }
  return dds_delete(DDS_CYCLONEDDS_HANDLE);
}
