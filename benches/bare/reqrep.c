// ZeroMQ alone, as its own local_lat and remote_lat are defined: REQ sends and waits, REP sends back the message that
// it received. reqrep ENDPOINT BYTES ROUNDS CORE: prints the median round trip in ns. Both ends run on one core.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { WARMUP = 100 };

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void require(int good, const char* what) {
  if (!good) {
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(2);
  }
}

static int ascending(const void* left, const void* right) {
  int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

static int serve(const char* endpoint, size_t rounds) {
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REP);
  require(zmq_bind(socket, endpoint) == 0, "bind");
  zmq_msg_t message;
  zmq_msg_init(&message);
  for (size_t round = 0; round < rounds; round++) {
    require(zmq_msg_recv(&message, socket, 0) >= 0, "recv");
    require(zmq_msg_send(&message, socket, 0) >= 0, "send");
  }
  zmq_msg_close(&message);
  zmq_close(socket);
  zmq_ctx_term(context);
  return 0;
}

static void ask(const char* endpoint, size_t bytes, size_t rounds, int64_t* took) {
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REQ);
  require(zmq_connect(socket, endpoint) == 0, "connect");
  zmq_msg_t message;
  zmq_msg_init_size(&message, bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    require(zmq_msg_send(&message, socket, 0) >= 0, "send");
    require(zmq_msg_recv(&message, socket, 0) == (int)bytes, "recv");
    took[round] = now_ns() - begun;
  }
  zmq_msg_close(&message);
  zmq_close(socket);
  zmq_ctx_term(context);
}

int main(int count, char** words) {
  require(count == 5, "usage: reqrep ENDPOINT BYTES ROUNDS CORE");
  size_t bytes = strtoul(words[2], NULL, 10), rounds = strtoul(words[3], NULL, 10);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(atoi(words[4]), &cores);
  require(sched_setaffinity(0, sizeof cores, &cores) == 0, "sched_setaffinity");
  int64_t* took = calloc(WARMUP + rounds, sizeof *took);
  pid_t server = fork();
  if (server == 0) setsid();  // as hopmeter's nodes: the kernel may share a core by sessions
  if (server == 0) return serve(words[1], WARMUP + rounds);
  ask(words[1], bytes, WARMUP + rounds, took);
  waitpid(server, NULL, 0);
  qsort(took + WARMUP, rounds, sizeof *took, ascending);
  printf("%lld\n", (long long)took[WARMUP + rounds / 2]);
  return 0;
}
