// A futex wakes a sleeper in another process, on another core, at a steady rate, like the ring of shm. wake HZ ROUNDS
// prints the median from the time when the wake-up was due to the sleeper's first clock reading, in ns.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "bare.h"

enum { SPUN_NS = 250000 };  // hopmeter's source measures how late its sleeps end, and spins for at most this long

typedef struct {
  _Atomic uint32_t word;
  _Atomic int64_t due_ns;
} Shared;

static void sleep_until(int64_t due_ns) {
  int64_t wake_ns = due_ns - SPUN_NS;
  struct timespec at = {wake_ns / 1000000000, wake_ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
  while (now_ns() < due_ns) {
  }
}

static void wake(Shared* shared, int64_t period_ns) {
  for (int64_t due_ns = now_ns() + 10 * period_ns;; due_ns += period_ns) {
    sleep_until(due_ns);
    atomic_store(&shared->due_ns, due_ns);
    atomic_fetch_add(&shared->word, 1);
    syscall(SYS_futex, &shared->word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
  }
}

int main(int count, char** words) {
  require(count == 3, "wake without HZ and ROUNDS");
  keep_memory();
  make_room(words[2]);
  Shared* shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(took && shared != MAP_FAILED, "take memory");
  pid_t waker = other_process();
  pin(waker ? "1" : "0");
  if (!waker) wake(shared, 1000000000 / atoi(words[1]));
  for (size_t round = 0; round < rounds; round++) {
    while (atomic_load(&shared->word) == (uint32_t)round)
      syscall(SYS_futex, &shared->word, FUTEX_WAIT, (uint32_t)round, NULL, NULL, 0);
    took[round] = now_ns() - atomic_load(&shared->due_ns);
  }
  tell_median();
  kill(waker, SIGKILL);
  waitpid(waker, NULL, 0);
  return 0;
}
