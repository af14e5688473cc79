// nng alone, as the latency test of its own perf program is defined, with its option for REQ and REP: REQ sends and
// waits, REP sends back the message that it received, and REQ sends what came back again.
// nng_reqrep ENDPOINT BYTES ROUNDS CORE: prints the median round trip in ns. Both ends run on one core, each in a
// session of its own as nodes are: Linux schedules sessions as groups, which costs nng's many threads half as much
// again.
#define _GNU_SOURCE
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/util/platform.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARMUP = 100 };

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void require(int code, const char* what) {
  if (code != 0) {
    fprintf(stderr, "%s: %s\n", what, nng_strerror(code));
    exit(2);
  }
}

static int ascending(const void* left, const void* right) {
  int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

// nng closes connections that bring more than 1 MiB, unless told that there is no limit.
static nng_socket opened(int (*open)(nng_socket*)) {
  nng_socket socket;
  require(open(&socket), "open");
  require(nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0), "recv-size-max");
  return socket;
}

static int serve(const char* endpoint, size_t rounds) {
  nng_socket socket = opened(nng_rep0_open);
  nng_msg* message;
  require(nng_listen(socket, endpoint, NULL, 0), "listen");
  for (size_t round = 0; round < rounds; round++) {
    require(nng_recvmsg(socket, &message, 0), "recv");
    require(nng_sendmsg(socket, message, 0), "send");
  }
  nng_msleep(100);  // until the last reply has left
  nng_close(socket);
  return 0;
}

static void ask(const char* endpoint, size_t bytes, size_t rounds, int64_t* took) {
  nng_socket socket = opened(nng_req0_open);
  nng_msg* message;
  require(nng_dial(socket, endpoint, NULL, NNG_FLAG_NONBLOCK), "dial");
  require(nng_msg_alloc(&message, bytes), "alloc");
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    require(nng_sendmsg(socket, message, 0), "send");
    require(nng_recvmsg(socket, &message, 0), "recv");
    took[round] = now_ns() - begun;
    require(nng_msg_len(message) == bytes ? 0 : NNG_EMSGSIZE, "reply");
  }
  nng_msg_free(message);
  nng_close(socket);
}

int main(int count, char** words) {
  require(count == 5 ? 0 : NNG_EINVAL, "usage: nng_reqrep ENDPOINT BYTES ROUNDS CORE");
  size_t bytes = strtoul(words[2], NULL, 10), rounds = strtoul(words[3], NULL, 10);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(atoi(words[4]), &cores);
  require(sched_setaffinity(0, sizeof cores, &cores) == 0 ? 0 : NNG_EINVAL, "sched_setaffinity");
  int64_t* took = calloc(WARMUP + rounds, sizeof *took);
  setsid();
  pid_t server = fork();  // before nng starts its threads
  if (server == 0) {
    setsid();
    return serve(words[1], WARMUP + rounds);
  }
  ask(words[1], bytes, WARMUP + rounds, took);
  waitpid(server, NULL, 0);
  qsort(took + WARMUP, rounds, sizeof *took, ascending);
  printf("%lld\n", (long long)took[WARMUP + rounds / 2]);
  return 0;
}
