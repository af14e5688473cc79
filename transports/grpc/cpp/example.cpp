// Sends messages with gRPC: start `example receive`, then `example send` in a second terminal. The receiver is the
// server, and each message is a call.
// Build: protoc --cpp_out=. --grpc_out=. --plugin=protoc-gen-grpc=$(which grpc_cpp_plugin) example.proto
// Build: c++ -std=c++20 -O2 example.cpp example*.cc -o example $(pkg-config --cflags --libs grpc++ protobuf)
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "example.grpc.pb.h"

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:50051";
constexpr auto PATIENCE = std::chrono::seconds(10);

int send() {
  grpc::ChannelArguments any_size;
  any_size.SetMaxSendMessageSize(-1);
  const auto stub = Receiver::NewStub(grpc::CreateCustomChannel(ADDRESS, grpc::InsecureChannelCredentials(), any_size));
  Message message;
  message.set_data(std::string(PAYLOAD_BYTES, '\0'));
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    grpc::ClientContext context;
    context.AddMetadata("topic", TOPIC);
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + PATIENCE);
    Taken taken;
    const auto status = stub->Put(&context, message, &taken);  // returns when the receiver has the message
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.error_message().c_str());
      return 1;
    }
  }
  std::printf("sent %d messages\n", COUNT);
  return 0;
}

struct Taking final : Receiver::Service {
  std::mutex mutex;
  std::condition_variable came;
  int count = 0;

  grpc::Status Put(grpc::ServerContext*, const Message* message, Taken*) override {
    const std::lock_guard lock(mutex);
    count += message->data().size() == PAYLOAD_BYTES;
    came.notify_one();
    return grpc::Status::OK;
  }
};

int receive() {
  Taking taking;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(ADDRESS, grpc::InsecureServerCredentials());
  builder.RegisterService(&taking);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::puts("ready");
  std::fflush(stdout);
  std::unique_lock lock(taking.mutex);
  for (int before = -1; taking.count < COUNT && taking.count > before;) {
    before = taking.count;
    taking.came.wait_for(lock, PATIENCE);
  }
  lock.unlock();
  server->Shutdown();
  std::printf("received %d messages\n", taking.count);
  return 0;
}

int main(int words, char** word) { return words > 1 && std::string(word[1]) == "send" ? send() : receive(); }
