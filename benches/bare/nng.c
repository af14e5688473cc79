// nng alone: REQ sends and waits, REP answers with a copy of what came, each frame in a message of nng's.
// nng ENDPOINT BYTES ROUNDS CORES: prints the median round trip in ns. CORES as in bare.h.
#define _GNU_SOURCE
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

#include "bare.h"

static nng_msg* message_of(size_t bytes) {
  nng_msg* message;
  require(nng_msg_alloc(&message, bytes) == 0, "allocate");
  return message;
}

static int serve(const char* endpoint, size_t rounds) {
  nng_socket socket;
  nng_msg *request, *reply;
  require(nng_rep0_open(&socket) == 0 && nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0) == 0, "open");
  require(nng_listen(socket, endpoint, NULL, 0) == 0, "listen");
  for (size_t round = 0; round < rounds; round++) {
    require(nng_recvmsg(socket, &request, 0) == 0, "receive");
    reply = message_of(nng_msg_len(request));
    memcpy(nng_msg_body(reply), nng_msg_body(request), nng_msg_len(request));
    require(nng_sendmsg(socket, reply, 0) == 0, "send");
    nng_msg_free(request);
  }
  pause();  // the last reply leaves on a thread of nng's; this end is killed with the other
  return 0;
}

static void ask(const char* endpoint, size_t bytes, size_t rounds, int64_t* took) {
  nng_socket socket;
  nng_msg* reply;
  require(nng_req0_open(&socket) == 0 && nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0) == 0, "open");
  int tries = 0;
  while (nng_dial(socket, endpoint, NULL, 0) != 0 && tries++ < 1000) usleep(1000);
  for (size_t round = 0; round < rounds; round++) {
    nng_msg* request = message_of(bytes);
    int64_t begun = now_ns();
    memcpy(nng_msg_body(request), &begun, sizeof begun);
    require(nng_sendmsg(socket, request, 0) == 0, "send");
    require(nng_recvmsg(socket, &reply, 0) == 0 && nng_msg_len(reply) == bytes, "receive");
    took[round] = now_ns() - begun;
    nng_msg_free(reply);
  }
  nng_close(socket);
}

int main(int count, char** words) {
  require(count == 5, "start without ENDPOINT BYTES ROUNDS CORES");
  size_t bytes = strtoul(words[2], NULL, 10), rounds = strtoul(words[3], NULL, 10);
  pin(words[4]);
  int64_t* took = calloc(WARMUP + rounds, sizeof *took);
  pid_t server = other_process();
  if (server == 0) return serve(words[1], WARMUP + rounds);
  ask(words[1], bytes, WARMUP + rounds, took);
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  tell_median(took, rounds);
  return 0;
}
