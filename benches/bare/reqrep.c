// ZeroMQ alone, with the pattern of its own local_lat and remote_lat: REQ sends and waits, REP sends back the message
// that it received. `reqrep ENDPOINT BYTES ROUNDS CORES` prints the median round trip in ns. CORES has the same form as
// in bare.h.
#define _GNU_SOURCE
#include <zmq.h>

#include "bare.h"

static int serve(const char* endpoint) {
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REP);
  require(zmq_bind(socket, endpoint) == 0, "bind");
  zmq_msg_t message;
  zmq_msg_init(&message);
  for (size_t round = 0; round < rounds; round++) {
    require(zmq_msg_recv(&message, socket, 0) >= 0, "receive");
    require(zmq_msg_send(&message, socket, 0) >= 0, "send");
  }
  zmq_msg_close(&message);
  zmq_close(socket);
  zmq_ctx_term(context);
  return 0;
}

static void ask(const char* endpoint) {
  void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REQ);
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
  zmq_ctx_term(context);
}

int main(int count, char** words) {
  require(count == 5, "start without ENDPOINT BYTES ROUNDS CORES");
  prepare(words + 2);
  pid_t server = other_process();
  if (server == 0) return serve(words[1]);
  ask(words[1]);
  waitpid(server, NULL, 0);
  tell_median();
  return 0;
}
