/* The cheapest way to wake another process through a futex: store, wake, wait. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A futex word for each direction, on separate cache lines. */
struct words {
  _Alignas(128) atomic_uint there;
  _Alignas(128) atomic_uint back;
};

static void hand_over(atomic_uint* word, unsigned value) {
  atomic_store_explicit(word, value, memory_order_release);
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(atomic_uint* word, unsigned value) {
  while (atomic_load_explicit(word, memory_order_acquire) != value)
    syscall(SYS_futex, word, FUTEX_WAIT, value - 1, NULL, NULL, 0);
}

static int pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof set, &set);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Returns the total time of `rounds` round trips in nanoseconds, after a warm-up of a tenth as many; negative on
 * failure. */
int64_t bare_futex_ns(uint32_t rounds, int core_here, int core_there) {
  struct words* words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED || pin(core_there) != 0 || pin(core_here) != 0) return -1;
  unsigned warm = rounds / 10, all = warm + rounds;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();  // like hopmeter's nodes, because the kernel may divide a core between sessions
    if (getppid() != parent || pin(core_there) != 0) _exit(1);
    for (unsigned i = 1; i <= all; i++) {
      await(&words->there, i);
      hand_over(&words->back, i);
    }
    _exit(0);
  }
  int64_t start = 0;
  for (unsigned i = 1; i <= all; i++) {
    if (i == warm + 1) start = now_ns();
    hand_over(&words->there, i);
    await(&words->back, i);
  }
  int64_t took = now_ns() - start;
  int status;
  waitpid(child, &status, 0);
  munmap(words, sizeof *words);
  return status == 0 ? took : -1;
}
