// Helpers for the bare programs: a clock, pinning to cores, exit on errors, and the median of the measurements.
#pragma once
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARMUP = 100 };

static inline int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static inline void require(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "cannot %s\n", what);
  exit(2);
}

static inline void take_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  require(sched_setaffinity(0, sizeof cores, &cores) == 0, "take the core");
}

// The core of the other process. If only one core was named, both processes use this core.
static int other_core;

// Makes glibc retain the memory of freed messages, as in hopmeter's nodes and in any program that has freed a larger
// block. Without this call, glibc may return each message's memory to the kernel and allocate it again, which doubles
// the time of a 1 MB message.
static inline void keep_memory(void) {
  void* volatile large = malloc((32 << 20) - 8192);
  free(large);
}

// Pins this process to core `A` of the argument `A` or `A,B`; core `B` is for the other process.
static inline void pin(const char* cores) {
  const char* second = strchr(cores, ',');
  other_core = atoi(second ? second + 1 : cores);
  take_core(atoi(cores));
}

// Forks the other process, which ends together with this one; returns 0 in the other process. The other process gets
// its own session, like hopmeter's nodes and like programs in two terminals, because the kernel may divide a core
// between sessions.
static inline pid_t other_process(void) {
  pid_t pid = fork();
  require(pid >= 0, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    take_core(other_core);
  }
  return pid;
}

// The work of a measuring node for one message: the message contains run, number and send time, and each process stores
// two timestamps.
typedef struct {
  uint64_t run;
  int64_t number, sent;
} head;

typedef struct {
  int64_t number, arrived, done;
} record;

static const uint64_t this_run = 0x686f706d65746572;

// The arguments, and memory for all rounds including the warm-up; each round stores its duration and a record.
static size_t frame_bytes, rounds;
static int64_t* took;
static record* records;
static size_t recorded;

static inline void make_room(const char* asked_rounds) {
  rounds = WARMUP + strtoul(asked_rounds, NULL, 10);
  took = (int64_t*)calloc(rounds, sizeof *took);
  records = (record*)calloc(rounds, sizeof *records);
}

// Sets up the program from its last three arguments, BYTES ROUNDS CORES, and makes glibc retain freed memory from here
// on.
static inline void prepare(char** words) {
  keep_memory();
  frame_bytes = strtoul(words[0], NULL, 10);
  pin(words[2]);
  make_room(words[1]);
}

static int ascending(const void* left, const void* right) {
  int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

// Prints the median of the measured durations, excluding the warm-up.
static inline void tell_median(void) {
  const size_t counted = rounds - WARMUP;
  qsort(took + WARMUP, counted, sizeof *took, ascending);
  printf("%lld\n", (long long)took[WARMUP + counted / 2]);
}

static inline void note(int64_t number, int64_t arrived) {
  const record noted = {number, arrived, now_ns()};
  records[recorded++ % rounds] = noted;
}

static inline void write_head(void* message, int64_t number) {
  const head written = {this_run, number, now_ns()};
  memcpy(message, &written, sizeof written);
}

static inline head head_of(const void* message, size_t bytes) {
  head found;
  require(bytes >= sizeof found, "read so short a message");
  memcpy(&found, message, sizeof found);
  require(found.run == this_run, "use a message of another run");
  return found;
}
