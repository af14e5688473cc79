// Calls a Thrift service: start `example serve`, then `example call` in a second terminal.
// Build: thrift --gen cpp:no_skeleton -out . example.thrift
// Build: c++ -std=c++20 -O2 example.cpp Answer.cpp -o example $(pkg-config --cflags --libs thrift)
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "Answer.h"

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransportException;

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string ADDRESS = "127.0.0.1:9090";
constexpr int PATIENCE_MS = 10000;
const std::string HOST = ADDRESS.substr(0, ADDRESS.find(':'));
const int PORT = std::stoi(ADDRESS.substr(ADDRESS.find(':') + 1));

void call() {
  const auto connection = std::make_shared<TSocket>(HOST, PORT);
  connection->setRecvTimeout(PATIENCE_MS);
  const auto transport = std::make_shared<TBufferedTransport>(connection);
  AnswerClient client(std::make_shared<TBinaryProtocol>(transport));
  transport->open();
  const std::string payload(PAYLOAD_BYTES, '\0');
  std::string reply;
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    client.call(reply, payload);
    count += reply.size() == PAYLOAD_BYTES;
  }
  transport->close();
  std::printf("received %d replies\n", count);
}

struct Server final : AnswerIf {
  int calls = 0;
  void call(std::string& reply, const std::string& request) override {
    ++calls;
    reply = request;
  }
};

// Serves one client until it disconnects. Thrift's TThreadedServer serves many clients.
void serve() {
  TServerSocket listener(HOST, PORT);
  listener.listen();
  std::puts("ready");
  std::fflush(stdout);
  const auto transport = std::make_shared<TBufferedTransport>(listener.accept());
  const auto protocol = std::make_shared<TBinaryProtocol>(transport);
  const auto server = std::make_shared<Server>();
  AnswerProcessor processor(server);
  try {
    while (processor.process(protocol, protocol, nullptr)) continue;
  } catch (const TTransportException&) {  // the client has closed
  }
  std::printf("answered %d calls\n", server->calls);
}

int main(int words, char** word) { words > 1 && std::string(word[1]) == "call" ? call() : serve(); }
