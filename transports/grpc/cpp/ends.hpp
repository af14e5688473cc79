/// What both patterns need: a server on an address of its own, a channel to it, and the end of a completion queue.
#pragma once

#include <chrono>

#include "kinds.hpp"

/// No limit to a message's size but the manifest's, and no compression.
inline constexpr int unlimited = -1;

inline std::chrono::system_clock::time_point within(hopmeter::Timeout timeout) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(timeout);
}

/// Whether a channel leaves out the filters that plain calls can do without, such as those of deadlines and idleness.
inline int is_minimal(const hopmeter::Setup& setup) { return setup.setting<bool>("minimal_stack"); }

/// A server that is asked for its address once it runs.
class Bound {
 public:
  Bound(const hopmeter::Setup& setup, const hopmeter::Link& link) {
    builder.SetMaxReceiveMessageSize(unlimited);
    builder.SetMaxSendMessageSize(unlimited);
    builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, is_minimal(setup));
    const bool tcp = setup.setting<std::string>("endpoint") == "tcp";
    address_ = tcp ? "127.0.0.1:0" : "unix:" + setup.directory() + "/" + link.name + ".grpc";
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials(), &port_);
  }

  void start() {
    server_ = builder.BuildAndStart();
    if (!server_) throw hopmeter::Error("starting a gRPC server at " + address_);
    if (address_ == "127.0.0.1:0") address_ = "127.0.0.1:" + std::to_string(port_);
  }

  /// Ends all calls that are under way; nothing of the server runs when it returns.
  void stop() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  const std::string& address() const noexcept { return address_; }

  grpc::ServerBuilder builder;

 private:
  std::string address_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

/// A connection of its own for each end, as if each were a program of its own.
inline std::unique_ptr<Stub> reached(const hopmeter::Setup& setup, const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(unlimited);
  arguments.SetMaxSendMessageSize(unlimited);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, is_minimal(setup));
  return hopmeter::wire::Link::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

/// Ends a queue for good; what was under way is answered as not done.
template <class Queue>
void finish(Queue& queue) {
  queue.Shutdown();
  void* tag = nullptr;
  bool done = false;
  while (queue.Next(&tag, &done)) {
  }
}
