// A baseline with gRPC alone: the synchronous stub makes calls, and the synchronous server answers with a copy, with
// the messages of transports/grpc over TCP. `grpc BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A`
// or `A,B`, as in bare.h. Each process has its own session, like hopmeter's nodes, because the scheduler divides a core
// between sessions.
#include <grpcpp/grpcpp.h>

#include "bare.h"
#include "hopmeter.grpc.pb.h"

using hopmeter::wire::Link;
using hopmeter::wire::Timing;

struct Answering final : Link::Service {
  grpc::Status CallTiming(grpc::ServerContext*, const Timing* request, Timing* reply) override {
    *reply = *request;
    return grpc::Status::OK;
  }
};

static int serve(int told, int over) {
  Answering answering;
  int port = 0;
  char word;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&answering);
  const auto server = builder.BuildAndStart();
  require(server && write(told, &port, sizeof port) == sizeof port, "start a server");
  require(read(over, &word, 1) == 0, "hear that it is over");
  server->Shutdown();
  return 0;
}

static void ask(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto address = "127.0.0.1:" + std::to_string(port);
  const auto stub = Link::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  Timing request, reply;
  request.set_source(std::string(56, 's'));
  request.mutable_padding()->assign(frame_bytes - 64, 'p');
  for (size_t round = 0; round < rounds; round++) {
    const int64_t begun = now_ns();
    request.set_id(round);
    request.set_nanosec(begun);
    grpc::ClientContext context;
    require(stub->CallTiming(&context, request, &reply).ok(), "ask");
    took[round] = now_ns() - begun;
  }
}

int main(int count, char** words) {
  require(count == 4, "start without BYTES ROUNDS CORES");
  prepare(words + 1);
  int told[2], over[2], port = 0;
  require(pipe(told) == 0 && pipe(over) == 0, "make pipes");
  const pid_t server = other_process();
  if (server == 0) {
    close(over[1]);
    return serve(told[1], over[0]);
  }
  require(read(told[0], &port, sizeof port) == sizeof port, "hear the server's port");
  ask(port);
  close(over[0]);
  close(over[1]);
  waitpid(server, nullptr, 0);
  tell_median();
  return 0;
}
