// A bare ping-pong over two POSIX message queues. `mq plain|alike BYTES ROUNDS CORES` prints the median round trip in
// ns. CORES is `A` or `A,B`, as in bare.h. `plain` waits in mq_receive. `alike` does the same work as a hopmeter ring:
// receive calls with a timeout, and a record with two timestamps in each process.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>

#include "bare.h"

static int alike;

static mqd_t make(const char* way) {
  struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = (long)frame_bytes};
  char name[64];
  snprintf(name, sizeof name, "/hopmeter-bare-%d-%s", (int)getpid(), way);
  const mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  require(queue >= 0, "mq_open");
  mq_unlink(name);
  return queue;
}

static void put(mqd_t queue, const char* frame, size_t bytes) {
  require(mq_send(queue, frame, bytes, 0) == 0, "mq_send");
}

static int take(mqd_t queue, char* frame) {
  if (!alike) return mq_receive(queue, frame, frame_bytes, NULL) == (ssize_t)frame_bytes;
  ssize_t received;
  do {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    received = mq_timedreceive(queue, frame, frame_bytes, NULL, &until);
  } while (received < 0 && errno == ETIMEDOUT);  // the other process may have waited for a core
  return received == (ssize_t)frame_bytes;
}

static void echo(mqd_t from, mqd_t to, char* frame) {
  for (int64_t number = 0; take(from, frame); number++) {
    if (alike) note(number, now_ns());
    put(to, frame, frame_bytes);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without plain|alike BYTES ROUNDS CORES");
  alike = strcmp(words[1], "alike") == 0;
  prepare(words + 2);
  const mqd_t there = make("there"), back = make("back");
  char *frame = malloc(frame_bytes), *returned = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  const pid_t other = other_process();
  if (other == 0) {
    echo(there, back, frame);
    return 0;
  }
  for (size_t round = 0; round < rounds; round++) {
    const int64_t begun = now_ns();
    put(there, frame, frame_bytes);
    require(take(back, returned), "receive");
    const int64_t arrived = now_ns();
    took[round] = arrived - begun;
    if (alike) note((int64_t)round, arrived);
  }
  put(there, frame, 0);  // an empty message ends the other process
  waitpid(other, NULL, 0);
  tell_median();
  return 0;
}
