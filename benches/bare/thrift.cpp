// A baseline with Thrift alone: the generated client makes calls, and TSimpleServer answers with a copy. The program
// uses the buffered transport and the binary protocol over TCP, with the messages of transports/thrift. `thrift PORT
// BYTES ROUNDS CORES plain|alike` prints the median round trip in ns. CORES is `A` or `A,B`, as in bare.h. Each process
// has its own session, like hopmeter's nodes, because the scheduler divides a core between sessions. `alike` does the
// same work as a node: each process receives with a timeout, has a second thread, and takes two timestamps per message.
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TSimpleServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <thread>

#include "Exchange.h"
#include "bare.h"

using namespace apache::thrift;
using hopmeter::idl::ExchangeClient;
using hopmeter::idl::ExchangeIf;
using hopmeter::idl::ExchangeProcessor;
using hopmeter::idl::Image;
using hopmeter::idl::Timing;
using protocol::TBinaryProtocol;
using protocol::TBinaryProtocolFactory;
using transport::TBufferedTransport;
using transport::TBufferedTransportFactory;
using transport::TServerSocket;
using transport::TSocket;
using transport::TTransportException;

static bool alike;

static void become_alike() {
  if (alike) std::thread([] { pause(); }).detach();
}

struct Answering final : ExchangeIf {
  void timing(Timing& reply, const Timing& request) override {
    const int64_t arrived = alike ? now_ns() : 0;
    reply = request;
    if (alike) note(request.id, arrived);
  }
  void image(Image& reply, const Image& request) override { reply = request; }
};

static int serve(int port) {
  const auto answers = std::make_shared<ExchangeProcessor>(std::make_shared<Answering>());
  const auto listener = std::make_shared<TServerSocket>("127.0.0.1", port);
  if (alike) listener->setRecvTimeout(100000);
  server::TSimpleServer(answers, listener, std::make_shared<TBufferedTransportFactory>(),
                        std::make_shared<TBinaryProtocolFactory>())
      .serve();
  return 0;
}

static void open_transport(TBufferedTransport& transport) {
  for (int tries = 0; tries < 1000; tries++) {
    try {
      return transport.open();
    } catch (const TTransportException&) {
      usleep(1000);  // the server does not listen yet
    }
  }
  require(0, "connect");
}

static void ask(int port) {
  const auto socket = std::make_shared<TSocket>("127.0.0.1", port);
  if (alike) socket->setRecvTimeout(100);
  const auto transport = std::make_shared<TBufferedTransport>(socket);
  ExchangeClient client(std::make_shared<TBinaryProtocol>(transport));
  open_transport(*transport);
  Timing request, reply;
  request.source.assign(56, 's');
  request.padding.assign(frame_bytes - 64, 'p');
  for (size_t round = 0; round < rounds; round++) {
    request.id = static_cast<int64_t>(round);
    request.nanosec = now_ns();
    client.timing(reply, request);
    const int64_t arrived = now_ns();
    took[round] = arrived - request.nanosec;
    if (alike) note(request.id, arrived);
  }
}

int main(int count, char** words) {
  require(count == 6, "start without PORT BYTES ROUNDS CORES plain|alike");
  alike = strcmp(words[5], "alike") == 0;
  const int port = atoi(words[1]);
  prepare(words + 2);
  const pid_t server = other_process();
  become_alike();
  if (server == 0) return serve(port);
  GlobalOutput.setOutputFunction([](const char*) {});  // hides failed attempts to connect
  ask(port);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  tell_median();
  return 0;
}
