// Sends messages with gRPC: start `example receive`, then `example send` in a second terminal. The sender is the
// server, and the receiver reads a stream. For calls, start `example serve`, then `example call`.

// Build: protoc --cpp_out=. --grpc_out=. --plugin=protoc-gen-grpc=$(which grpc_cpp_plugin) example.proto
// Build: c++ -std=c++20 -O2 example.cpp example*.cc -o example $(pkg-config --cflags --libs grpc++ protobuf)
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <semaphore>
#include <string>
#include <thread>

#include "example.grpc.pb.h"

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:50051";
constexpr auto PATIENCE = std::chrono::seconds(10);

void wait_for(int number, std::chrono::steady_clock::time_point begin) {
  std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
}

struct Server final : example::Example::Service {
  std::atomic<int> count = 0;
  std::binary_semaphore done{0};

  grpc::Status Subscribe(grpc::ServerContext*, const example::Topic* topic,
                         grpc::ServerWriter<example::Message>* receiver) override {
    if (topic->name() != TOPIC) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such topic");
    example::Message message;
    message.set_data(std::string(PAYLOAD_BYTES, '\0'));
    for (const auto begin = std::chrono::steady_clock::now(); count < COUNT; ++count) {
      wait_for(count, begin);
      if (!receiver->Write(message)) break;  // the receiver has disconnected
    }
    done.release();
    return grpc::Status::OK;
  }

  grpc::Status Call(grpc::ServerContext*, const example::Message* request, example::Message* reply) override {
    *reply = *request;
    if (++count == COUNT) done.release();
    return grpc::Status::OK;
  }
};

/// Runs a server until its work is done.
void run_server(const char* said) {
  Server service;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(ADDRESS, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return std::perror("start a server");
  std::puts("ready");
  std::fflush(stdout);
  (void)service.done.try_acquire_for(PATIENCE + std::chrono::duration<double>(COUNT / RATE_HZ));
  server->Shutdown();
  std::printf(said, service.count.load());
}

auto connect() {
  grpc::ChannelArguments any_size;
  any_size.SetMaxReceiveMessageSize(-1);
  return example::Example::NewStub(grpc::CreateCustomChannel(ADDRESS, grpc::InsecureChannelCredentials(), any_size));
}

void receive() {
  std::puts("ready");
  std::fflush(stdout);
  const auto stub = connect();
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  example::Topic topic;
  topic.set_name(TOPIC);
  const auto stream = stub->Subscribe(&context, topic);
  int count = 0;
  for (example::Message message; stream->Read(&message);) count += message.data().size() == PAYLOAD_BYTES;
  std::printf("received %d messages\n", count);
}

void call() {
  const auto stub = connect();
  example::Message request, reply;
  request.set_data(std::string(PAYLOAD_BYTES, '\0'));
  const auto begin = std::chrono::steady_clock::now();
  int count = 0;
  for (int number = 0; number < COUNT; ++number) {
    wait_for(number, begin);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + PATIENCE);
    count += stub->Call(&context, request, &reply).ok() && reply.data().size() == PAYLOAD_BYTES;
  }
  std::printf("received %d replies\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "send") run_server("sent %d messages\n");
  if (side == "receive") receive();
  if (side == "call") call();
  if (side == "serve") run_server("answered %d calls\n");
}
