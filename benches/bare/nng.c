// A baseline with nng alone: REQ sends and waits, REP answers with a copy, and each frame is an nng message. `nng
// ENDPOINT BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

#include "bare.h"

enum { LOOK_MS = 100 };

static nng_msg* message_of(size_t bytes) {
  nng_msg* message;
  require(nng_msg_alloc(&message, bytes) == 0, "allocate");
  return message;
}

// Receives a message. The receive call has a timeout, so that the loop checks the time regularly, as in hopmeter.
static nng_msg* receive(nng_socket socket) {
  nng_msg* message;
  int code;
  while ((code = nng_recvmsg(socket, &message, 0)) == NNG_ETIMEDOUT) continue;
  require(code == 0, "receive");
  return message;
}

static int serve(const char* endpoint) {
  nng_socket socket;
  require(nng_rep0_open(&socket) == 0 && nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0) == 0, "open");
  require(nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, LOOK_MS) == 0, "set the time to wait");
  require(nng_listen(socket, endpoint, NULL, 0) == 0, "listen");
  for (size_t round = 0; round < rounds; round++) {
    nng_msg* request = receive(socket);
    const int64_t arrived = now_ns();
    const head of = head_of(nng_msg_body(request), nng_msg_len(request));
    nng_msg* reply = message_of(nng_msg_len(request));
    memcpy(nng_msg_body(reply), nng_msg_body(request), nng_msg_len(request));
    require(nng_sendmsg(socket, reply, 0) == 0, "send");
    nng_msg_free(request);
    note(of.number, arrived);
  }
  pause();  // an nng thread sends the last reply; the other process then kills this process
  return 0;
}

static void ask(const char* endpoint) {
  nng_socket socket;
  require(nng_req0_open(&socket) == 0 && nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0) == 0, "open");
  require(nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, LOOK_MS) == 0, "set the time to wait");
  int tries = 0;
  while (nng_dial(socket, endpoint, NULL, 0) != 0 && tries++ < 1000) usleep(1000);
  for (size_t round = 0; round < rounds; round++) {
    nng_msg* request = message_of(frame_bytes);
    write_head(nng_msg_body(request), (int64_t)round);
    require(nng_sendmsg(socket, request, 0) == 0, "send");
    nng_msg* reply = receive(socket);
    const int64_t arrived = now_ns();
    const head of = head_of(nng_msg_body(reply), nng_msg_len(reply));
    require(nng_msg_len(reply) == frame_bytes && of.number == (int64_t)round, "get the reply");
    took[round] = arrived - of.sent;
    note(of.number, arrived);
    nng_msg_free(reply);
  }
  nng_close(socket);
}

int main(int count, char** words) {
  require(count == 5, "start without ENDPOINT BYTES ROUNDS CORES");
  prepare(words + 2);
  pid_t server = other_process();
  if (server == 0) return serve(words[1]);
  ask(words[1]);
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  tell_median();
  return 0;
}
