// A bare ping-pong over the kernel's sockets and pipes, which shows the cost of tcp, unix, udp and pipe without any
// instrument. `pingpong unix|tcp|udp|pipe plain|alike BYTES ROUNDS CORES` prints the median round trip in ns. CORES is
// `A` or `A,B`, as in bare.h. `plain` uses one connection for both directions, and blocking reads of a pipe, as most
// programs do. `alike` does the same work as a hopmeter ring, with a connection for each direction and a length before
// each frame of a stream. Each process receives with a timeout, for which a pipe uses poll, and records two timestamps.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "bare.h"

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

static void connect_udp(int ends[2]) {
  struct sockaddr_in addresses[2];
  socklen_t length = sizeof addresses[0];
  for (int end = 0; end < 2; end++) {
    addresses[end] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ends[end] = socket(AF_INET, SOCK_DGRAM, 0);
    require(bind(ends[end], (struct sockaddr*)&addresses[end], length) == 0, "bind");
    getsockname(ends[end], (struct sockaddr*)&addresses[end], &length);
  }
  for (int end = 0; end < 2; end++) {
    require(connect(ends[end], (struct sockaddr*)&addresses[1 - end], length) == 0, "connect");
  }
}

static int alike, is_pipe;

// Waits until a pipe is ready, with a timeout, as in a program that must not wait forever.
static int is_ready(int pipe_fd, short events) {
  struct pollfd place = {pipe_fd, events, 0};
  return !alike || poll(&place, 1, 100) > 0;
}

static void send_all(int socket_fd, const char* bytes, size_t length) {
  for (size_t sent = 0; sent < length;) {
    ssize_t step = is_pipe ? write(socket_fd, bytes + sent, length - sent)
                           : send(socket_fd, bytes + sent, length - sent, MSG_NOSIGNAL);
    require(step > 0, "send");
    sent += (size_t)step;
  }
}

static int receive_all(int socket_fd, char* bytes, size_t length) {
  for (size_t received = 0; is_pipe;) {
    while (!is_ready(socket_fd, POLLIN)) continue;
    ssize_t step = read(socket_fd, bytes + received, length - received);
    if (step <= 0) return 0;
    received += (size_t)step;
    if (received == length) return 1;
  }
  ssize_t received;
  do received = recv(socket_fd, bytes, length, MSG_WAITALL);
  while (received < 0 && errno == EAGAIN);  // the other process may have waited for a core
  return received == (ssize_t)length;
}

// Returns page-aligned memory. The kernel copies page-aligned memory fastest, because the memory is also aligned to
// cache lines. Copying a megabyte of malloc's memory to a TCP socket took three times as long. The function writes to
// all pages, because unwritten pages share one physical page, which would stay in the cache.
static char* page_aligned(size_t bytes) {
  void* memory;
  require(posix_memalign(&memory, 4096, bytes) == 0, "posix_memalign");
  return memset(memory, 1, bytes);
}

static void give_up_after_a_while(int socket_fd) {
  struct timeval patience = {.tv_usec = 100000};
  if (alike) setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

static void echo(int from, int to, char* frame, size_t bytes) {
  for (int64_t number = 0; receive_all(from, frame, bytes); number++) {
    if (alike) note(number, now_ns());
    send_all(to, frame, bytes);
  }
}

static void make(const char* kind, int ends[2]) {
  if (strcmp(kind, "tcp") == 0) {
    connect_tcp(ends);
  } else if (strcmp(kind, "udp") == 0) {
    connect_udp(ends);
  } else if (is_pipe) {
    int both[2];
    require(pipe(both) == 0, "pipe");
    ends[0] = both[1], ends[1] = both[0];
    return;
  } else {
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  }
  give_up_after_a_while(ends[0]);
  give_up_after_a_while(ends[1]);
}

static void ask(int to, int from, char* frame, char* returned, size_t bytes) {
  for (size_t round = 0; round < rounds; round++) {
    const int64_t begun = now_ns();
    send_all(to, frame, bytes);
    require(receive_all(from, returned, bytes), "receive");
    const int64_t arrived = now_ns();
    took[round] = arrived - begun;
    if (alike) note((int64_t)round, arrived);
  }
}

int main(int count, char** words) {
  require(count == 6, "start without unix|tcp|udp|pipe plain|alike BYTES ROUNDS CORES");
  alike = strcmp(words[2], "alike") == 0;
  is_pipe = strcmp(words[1], "pipe") == 0;
  prepare(words + 3);
  const int is_stream = strcmp(words[1], "udp") != 0;
  const size_t bytes = frame_bytes + (alike && is_stream ? 8 : 0);
  int there[2], back[2];
  make(words[1], there);
  const int two_ways = alike || is_pipe;
  if (two_ways)
    make(words[1], back);
  else
    back[0] = there[1], back[1] = there[0];
  char *frame = page_aligned(bytes), *returned = alike ? page_aligned(bytes) : frame;
  const pid_t other = other_process();
  if (other == 0) {
    close(there[0]);
    if (two_ways) close(back[1]);
    echo(there[1], back[0], frame, bytes);
    return 0;
  }
  close(there[1]);
  if (two_ways) close(back[0]);
  ask(there[0], back[1], frame, returned, bytes);
  if (!is_stream) send(there[0], frame, 0, 0);  // an empty datagram ends the other process
  close(there[0]);
  waitpid(other, NULL, 0);
  tell_median();
  return 0;
}
