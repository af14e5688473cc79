/// The common parts of calls and streams: a server with its own address, a channel to it, and completion queues.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "hopmeter/credentials.hpp"
#include "messages.hpp"

/// The maximum size of a received message: the largest frame plus the field tags, lengths and a margin.
inline int largest_message(const hopmeter::Setup& setup) {
  constexpr std::size_t margin_bytes = 4096;
  return static_cast<int>(setup.largest_frame_bytes() + margin_bytes);
}

inline std::chrono::system_clock::time_point deadline_after(hopmeter::Timeout timeout) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(timeout);
}

/// Whether channels omit filters that plain calls do not need, such as those for deadlines and idle connections.
inline int is_minimal(const hopmeter::Setup& setup) { return setup.setting<bool>("minimal_stack"); }

inline bool is_secure(const hopmeter::Setup& setup) { return setup.setting<std::string>("security") == "tls"; }

/// Returns credentials with the server's certificate and key, or insecure credentials without encryption.
inline std::shared_ptr<grpc::ServerCredentials> server_credentials(const hopmeter::Setup& setup) {
  if (!is_secure(setup)) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {hopmeter::read_credential(setup, "server.key"), hopmeter::read_credential(setup, "server.pem")});
  return grpc::SslServerCredentials(options);
}

/// Returns credentials with the certificate authority that clients trust, or insecure credentials without encryption.
inline std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const hopmeter::Setup& setup) {
  if (!is_secure(setup)) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = hopmeter::read_credential(setup, "ca.pem");
  return grpc::SslCredentials(options);
}

/// Offers a service at an address that is known after the start.
class ServiceHost {
 public:
  ServiceHost(const hopmeter::Setup& setup, const hopmeter::Link& link) {
    builder.SetMaxReceiveMessageSize(largest_message(setup));
    builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, is_minimal(setup));
    const bool is_tcp = setup.setting<std::string>("endpoint") == "tcp";
    address_ = is_tcp ? setup.bind() + ":0" : "unix:" + setup.directory() + "/" + link.name + ".grpc";
    if (is_tcp) advertised_ = setup.advertised();
    builder.AddListeningPort(address_, server_credentials(setup), &port_);
  }

  void start(grpc::Service& service) {
    server_ = builder.RegisterService(&service).BuildAndStart();
    if (!server_) throw hopmeter::Error("starting a gRPC server at " + address_);
    if (!advertised_.empty()) address_ = advertised_ + ":" + std::to_string(port_);
  }

  /// Ends all calls. After this function returns, no code of the server runs.
  void stop() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  const std::string& address() const noexcept { return address_; }

  grpc::ServerBuilder builder;

 private:
  std::string address_, advertised_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

/// Connects to a server. Each link end has its own connection, as in separate programs.
inline std::unique_ptr<Stub> connect(const hopmeter::Setup& setup, const hopmeter::Link& link) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(largest_message(setup));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, is_minimal(setup));
  return hopmeter::wire::Link::NewStub(grpc::CreateCustomChannel(link.address, channel_credentials(setup), arguments));
}

/// Shuts a queue down and takes its remaining events.
template <class Queue>
void drain(Queue& queue) {
  queue.Shutdown();
  void* tag = nullptr;
  bool is_ok = false;
  while (queue.Next(&tag, &is_ok)) {
  }
}
