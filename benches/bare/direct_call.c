// A bare direct call at a steady rate with the same two clock readings and one record: what a callback in one process
// costs without any instrument. direct_call MESSAGES RATE_HZ CORE: prints the median from stamp to arrival in ns.
// The clock may step by 10 ns, so each time stands for all from 5 ns less to 5 ns more.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { SMEARED = 11 };

struct record {
  int64_t seq, sent_ns, arrived_ns, rest[5];
};

static struct record* records;

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) static void on_frame(const int64_t* header) {
  int64_t arrived_ns = now_ns();
  records[header[0]] = (struct record){.seq = header[0], .sent_ns = header[1], .arrived_ns = arrived_ns};
}

static void wait_for(int64_t due_ns) {
  int64_t wake_ns = due_ns - 50000;
  struct timespec until = {wake_ns / 1000000000, wake_ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  while (now_ns() < due_ns) {
  }
}

static int ascending(const void* left, const void* right) {
  int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

int main(int count, char** words) {
  if (count != 4) return 2;
  int64_t messages = atoll(words[1]), period_ns = 1000000000 / atoll(words[2]);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(atoi(words[3]), &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) return 2;
  prctl(PR_SET_TIMERSLACK, 1UL);
  records = calloc((size_t)messages, sizeof *records);
  int64_t* took = calloc((size_t)messages * SMEARED, sizeof *took);
  void (*volatile call)(const int64_t*) = on_frame;
  int64_t header[8] = {0}, start_ns = now_ns() + 10000000;
  for (int64_t seq = 0; seq < messages; seq++) {
    wait_for(start_ns + seq * period_ns);
    header[0] = seq;
    header[1] = now_ns();
    call(header);
  }
  for (int64_t at = 0; at < messages * SMEARED; at++) {
    const struct record* record = &records[at / SMEARED];
    took[at] = record->arrived_ns - record->sent_ns + at % SMEARED - SMEARED / 2;
  }
  qsort(took, (size_t)messages * SMEARED, sizeof *took, ascending);
  printf("%lld\n", (long long)took[messages * SMEARED / 2]);
  return 0;
}
