// A baseline with ZeroMQ alone, in the pattern of ZeroMQ's own local_lat and remote_lat: REQ sends and waits, REP sends
// back the message that it received. `reqrep ENDPOINT BYTES ROUNDS CORES` prints the median round trip in ns. CORES is
// `A` or `A,B`, as in bare.h. If ENDPOINT begins with inproc:, both sides are threads of this process and share a
// context.
#define _GNU_SOURCE
#include <pthread.h>
#include <zmq.h>

#include "bare.h"

static const char* endpoint;

static void serve(void* context) {
  void* socket = zmq_socket(context, ZMQ_REP);
  require(zmq_bind(socket, endpoint) == 0, "bind");
  zmq_msg_t message;
  zmq_msg_init(&message);
  for (size_t round = 0; round < rounds; round++) {
    require(zmq_msg_recv(&message, socket, 0) >= 0, "receive");
    require(zmq_msg_send(&message, socket, 0) >= 0, "send");
  }
  zmq_msg_close(&message);
  zmq_close(socket);
}

static void ask(void* context) {
  void* socket = zmq_socket(context, ZMQ_REQ);
  require(zmq_connect(socket, endpoint) == 0, "connect");
  zmq_msg_t message;
  zmq_msg_init_size(&message, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    int64_t begun = now_ns();
    require(zmq_msg_send(&message, socket, 0) >= 0, "send");
    require(zmq_msg_recv(&message, socket, 0) == (int)frame_bytes, "receive the whole");
    took[round] = now_ns() - begun;
  }
  zmq_msg_close(&message);
  zmq_close(socket);
}

static void* serve_in_thread(void* context) {
  take_core(other_core);
  serve(context);
  return NULL;
}

static void measure_threads(void) {
  void* context = zmq_ctx_new();
  pthread_t server;
  require(pthread_create(&server, NULL, serve_in_thread, context) == 0, "start a thread");
  ask(context);
  pthread_join(server, NULL);
  zmq_ctx_term(context);
}

static void measure_processes(void) {
  pid_t server = other_process();
  void* context = zmq_ctx_new();
  if (server == 0)
    serve(context);
  else
    ask(context);
  zmq_ctx_term(context);
  if (server == 0) exit(0);
  waitpid(server, NULL, 0);
}

int main(int count, char** words) {
  require(count == 5, "start without ENDPOINT BYTES ROUNDS CORES");
  prepare(words + 2);
  endpoint = words[1];
  if (strncmp(endpoint, "inproc:", 7) == 0)
    measure_threads();
  else
    measure_processes();
  tell_median();
  return 0;
}
