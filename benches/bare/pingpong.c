// A bare ping-pong over stream sockets: what tcp and unix cost without any instrument.
// pingpong unix|tcp BYTES ROUNDS CORE CORE plain|alike: prints the median round trip in ns. Each end has its core.
// plain: one connection for both directions, as most write it. alike: as a ring of hopmeter's has to work, with a
// connection for each direction, a length before each frame, receiving that gives up after a while, and a record with
// two clock readings at each end.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void require(int good, const char* what) {
  if (!good) {
    perror(what);
    exit(2);
  }
}

static void connect_tcp(int ends[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  require(bind(listener, (struct sockaddr*)&address, length) == 0 && listen(listener, 1) == 0, "listen");
  getsockname(listener, (struct sockaddr*)&address, &length);
  ends[0] = socket(AF_INET, SOCK_STREAM, 0);
  require(connect(ends[0], (struct sockaddr*)&address, length) == 0, "connect");
  ends[1] = accept(listener, NULL, NULL);
  for (int end = 0; end < 2; end++) setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  close(listener);
}

static int alike;

struct record {
  int64_t seq, first_ns, second_ns, rest[5];
};

static void send_all(int socket_fd, const char* bytes, size_t length) {
  for (size_t sent = 0; sent < length;) {
    ssize_t step = send(socket_fd, bytes + sent, length - sent, MSG_NOSIGNAL);
    require(step > 0, "send");
    sent += (size_t)step;
  }
}

static int receive_all(int socket_fd, char* bytes, size_t length) {
  return recv(socket_fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

// From a page, and so from a cache line, the kernel copies fastest; from where malloc puts a megabyte, a TCP socket
// took three times as long. Written to: pages never written are all the same one, and in the cache.
static char* page_aligned(size_t bytes) {
  void* memory;
  require(posix_memalign(&memory, 4096, bytes) == 0, "posix_memalign");
  return memset(memory, 1, bytes);
}

static int ascending(const void* left, const void* right) {
  int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

static void give_up_after_a_while(int socket_fd) {
  struct timeval patience = {.tv_usec = 100000};
  if (alike) setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

static void echo(int from, int to, char* frame, size_t bytes, struct record* records) {
  for (int64_t seq = 0; receive_all(from, frame, bytes); seq++) {
    if (alike) records[seq] = (struct record){.seq = seq, .first_ns = now_ns(), .second_ns = now_ns()};
    send_all(to, frame, bytes);
  }
}

static void make(const char* kind, int ends[2]) {
  if (strcmp(kind, "tcp") == 0) {
    connect_tcp(ends);
  } else {
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  }
  give_up_after_a_while(ends[0]);
  give_up_after_a_while(ends[1]);
}

static void pin(const char* core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(atoi(core), &cores);
  require(sched_setaffinity(0, sizeof cores, &cores) == 0, "sched_setaffinity");
}

int main(int count, char** words) {
  require(count == 7, "usage: pingpong unix|tcp BYTES ROUNDS CORE CORE plain|alike");
  size_t bytes = strtoul(words[2], NULL, 10), rounds = strtoul(words[3], NULL, 10);
  alike = strcmp(words[6], "alike") == 0;
  pin(words[4]);
  int there[2], back[2];
  make(words[1], there);
  if (alike) {
    make(words[1], back);
    bytes += 8;
  } else {
    back[0] = there[1];
    back[1] = there[0];
  }
  char *frame = page_aligned(bytes), *returned = alike ? page_aligned(bytes) : frame;
  struct record* records = calloc(rounds, sizeof *records);
  int64_t* took = calloc(rounds, sizeof *took);
  if (fork() == 0) {
    setsid();  // as hopmeter's nodes: the kernel may share a core by sessions
    pin(words[5]);
    close(there[0]);
    if (alike) close(back[1]);
    echo(there[1], back[0], frame, bytes, records);
    return 0;
  }
  close(there[1]);
  if (alike) close(back[0]);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    send_all(there[0], frame, bytes);
    require(receive_all(back[1], returned, bytes), "recv");
    took[round] = now_ns() - begun;
    if (alike) records[round] = (struct record){.seq = (int64_t)round, .first_ns = begun, .second_ns = took[round]};
  }
  close(there[0]);
  wait(NULL);
  qsort(took, rounds, sizeof *took, ascending);
  printf("%lld\n", (long long)took[rounds / 2]);
  return 0;
}
