/// Connections: a socket, and Thrift's transport and protocol over it as the settings say.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TTransport.h>

#include <hopmeter/hopmeter.hpp>
#include <memory>
#include <string>

namespace channel {

using apache::thrift::TConfiguration;
using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolFactory;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TTransportFactory;

/// What the settings make of every connection.
struct Stack {
  explicit Stack(const hopmeter::Setup& setup);

  bool unix_sockets;
  /// Where the files of Unix sockets go.
  std::string directory;
  std::shared_ptr<TConfiguration> limits;
  std::shared_ptr<TTransportFactory> transports;
  std::shared_ptr<TProtocolFactory> protocols;
};

/// A socket whose receive timeout holds for the beginning of a message only: once its first bytes are there, a
/// timeout would lose them, so the rest is waited for.
class Socket final : public TSocket {
 public:
  using TSocket::TSocket;

  std::uint32_t read(std::uint8_t* buffer, std::uint32_t length) override;

  /// A new message may begin, or has begun already; how long to wait for it costs a system call only when it changes.
  void expect(hopmeter::Timeout timeout, bool begun);

  /// Whether the peer has closed the connection.
  bool ended() const noexcept { return ended_; }

 private:
  bool begun_ = false, ended_ = false;
  int timeout_ms_ = 0;
};

/// One connection.
class Channel {
 public:
  Channel(const Stack& stack, std::shared_ptr<Socket> socket);

  /// Where a client finds its server: `host:port`, or the path of a Unix socket.
  static Channel connected(const Stack& stack, const std::string& address);

  Socket& socket() const noexcept { return *socket_; }
  const std::shared_ptr<TProtocol>& protocol() const noexcept { return protocol_; }
  /// Whether bytes of another message were read together with the last one.
  bool buffered() const;
  /// Whether this is what a peer that has left causes, which is no failure of this end.
  bool left(const TTransportException& error) const noexcept;

 private:
  std::shared_ptr<Socket> socket_;
  std::shared_ptr<TTransport> transport_;
  std::shared_ptr<TProtocol> protocol_;
};

/// A listening socket, bound when it is made: its address is known before one of Thrift's servers calls `listen`.
class Listener final : public TServerSocket {
 public:
  /// An interruptable one looks, at every read, whether its server wants to stop: what Thrift's own servers need.
  static std::shared_ptr<Listener> bound(const Stack& stack, const hopmeter::Link& link, bool interruptable);
  ~Listener() override;

  void listen() override;
  std::string address() const;

 protected:
  std::shared_ptr<TSocket> createSocket(int connection) override;

 private:
  Listener(const std::string& path, std::shared_ptr<TConfiguration> limits);
  Listener(const std::string& host, int port, std::shared_ptr<TConfiguration> limits);

  std::shared_ptr<TConfiguration> limits_;
  bool bound_ = false;
};

}  // namespace channel
