/// A connection: a socket with the Thrift transport and protocol that the settings select.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"

using apache::thrift::TConfiguration;
using apache::thrift::protocol::TProtocol;
using apache::thrift::protocol::TProtocolFactory;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TTransportFactory;

/// Creates transports with hopmeter's limits; Thrift's own factories use the default limits.
class LimitedTransports final : public TTransportFactory {
 public:
  explicit LimitedTransports(const hopmeter::Setup& setup)
      : is_framed_(setup.setting<std::string>("transport") == "framed"),
        buffer_bytes_(setup.setting<std::uint32_t>("buffer")),
        limits_(limits_for(setup.largest_frame_bytes())) {
    if (buffer_bytes_ == 0) buffer_bytes_ = Buffered::DEFAULT_BUFFER_SIZE;
  }

  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> socket) override {
    if (is_framed_) return std::make_shared<apache::thrift::transport::TFramedTransport>(socket, limits_);
    return std::make_shared<Buffered>(socket, buffer_bytes_, limits_);
  }

  const std::shared_ptr<TConfiguration>& limits() const noexcept { return limits_; }

 private:
  using Buffered = apache::thrift::transport::TBufferedTransport;
  /// The maximum size of the call name and field tags that a message adds to its frame, with a margin.
  static constexpr std::size_t margin_bytes = 4096;

  /// Returns Thrift's own limits, raised for larger frames.
  static std::shared_ptr<TConfiguration> limits_for(std::size_t frame_bytes) {
    constexpr int message = TConfiguration::DEFAULT_MAX_MESSAGE_SIZE, frame = TConfiguration::DEFAULT_MAX_FRAME_SIZE;
    const int largest = static_cast<int>(frame_bytes + margin_bytes);
    return std::make_shared<TConfiguration>(std::max(largest, message), std::max(largest, frame));
  }

  bool is_framed_;
  std::uint32_t buffer_bytes_;
  std::shared_ptr<TConfiguration> limits_;
};

/// The state that all connections of the process share.
struct Stack {
  explicit Stack(const hopmeter::Setup& setup)
      : setup(setup),
        uses_unix(setup.setting<std::string>("endpoint") == "unix"),
        transports(std::make_shared<LimitedTransports>(setup)) {
    if (setup.setting<std::string>("protocol") == "compact")
      protocols = std::make_shared<apache::thrift::protocol::TCompactProtocolFactory>();
    else
      protocols = std::make_shared<apache::thrift::protocol::TBinaryProtocolFactory>();
  }

  hopmeter::Setup setup;
  bool uses_unix;
  std::shared_ptr<LimitedTransports> transports;
  std::shared_ptr<TProtocolFactory> protocols;
};

/// A socket whose receive timeout applies only until a message begins. After the first bytes of a message have arrived,
/// a timeout would lose these bytes, so the socket waits for the remaining bytes.
class Socket final : public TSocket {
 public:
  using TSocket::TSocket;

  std::uint32_t read(std::uint8_t* buffer, std::uint32_t length) override {
    for (;;) {
      try {
        const auto bytes = TSocket::read(buffer, length);
        has_begun_ = true;
        is_closed_ = bytes == 0;
        return bytes;
      } catch (const TTransportException& error) {
        if (!has_begun_ || error.getType() != TTransportException::TIMED_OUT) throw;
      }
    }
  }

  /// Prepares for a new message, of which some bytes may already have arrived. Sets the timeout only if it has changed,
  /// because setting a timeout takes a system call.
  void expect_message(hopmeter::Timeout timeout, bool has_begun) {
    has_begun_ = has_begun;
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    const int timeout_ms = static_cast<int>(std::max<std::int64_t>(1, limit));
    if (timeout_ms == timeout_ms_) return;
    setRecvTimeout(timeout_ms);
    timeout_ms_ = timeout_ms;
  }

  /// Whether the peer has closed the connection.
  bool is_closed() const noexcept { return is_closed_; }

 private:
  bool has_begun_ = false, is_closed_ = false;
  int timeout_ms_ = 0;
};

/// One connection.
class Channel {
 public:
  Channel(const Stack& stack, std::shared_ptr<Socket> socket)
      : socket_(std::move(socket)),
        transport_(stack.transports->getTransport(socket_)),
        protocol_(stack.protocols->getProtocol(transport_)) {}

  /// Connects to a server at `host:port`, or at the path of a Unix socket.
  Channel(const Stack& stack, const std::string& address) : Channel(stack, make_socket(stack, address)) {
    transport_->open();
  }

  Socket& socket() const noexcept { return *socket_; }
  const std::shared_ptr<TProtocol>& protocol() const noexcept { return protocol_; }

  /// Whether bytes of the next message were already read together with the last message.
  bool has_buffered() const {
    std::uint32_t one = 1;
    return transport_->borrow(nullptr, &one) != nullptr;
  }

  /// Whether the error means that the peer has disconnected, which is not a failure on this side.
  bool is_farewell(const TTransportException& error) const noexcept {
    return socket_->is_closed() || error.getType() == TTransportException::NOT_OPEN;
  }

 private:
  static std::shared_ptr<Socket> make_socket(const Stack& stack, const std::string& address) {
    if (stack.uses_unix) return std::make_shared<Socket>(address, stack.transports->limits());
    const auto [host, port] = hopmeter::HostPort::parse(address);
    return std::make_shared<Socket>(host, port, stack.transports->limits());
  }

  std::shared_ptr<Socket> socket_;
  std::shared_ptr<TTransport> transport_;
  std::shared_ptr<TProtocol> protocol_;
};

/// A listening socket that is bound in its constructor, so that its address is known before Thrift calls `listen`.
class Listener final : public apache::thrift::transport::TServerSocket {
 public:
  /// With `is_interruptable`, every read checks whether the server must stop, as Thrift's own servers require.
  static std::shared_ptr<Listener> bind(const Stack& stack, const hopmeter::Link& link, bool is_interruptable) {
    const auto& limits = stack.transports->limits();
    std::shared_ptr<Listener> listener(stack.uses_unix
                                           ? new Listener(limits, stack.setup.directory() + "/" + link.name + ".thrift")
                                           : new Listener(limits, stack.setup.bind(), 0));
    listener->advertised_ = stack.setup.advertised();
    listener->setInterruptableChildren(is_interruptable);
    listener->listen();
    return listener;
  }

  ~Listener() override {
    std::error_code ignored;  // the launcher removes the trial's folder
    if (isUnixDomainSocket()) std::filesystem::remove(getPath(), ignored);
  }

  void listen() override {
    if (!std::exchange(is_bound_, true)) TServerSocket::listen();
  }

  std::string address() const {
    return isUnixDomainSocket() ? getPath() : advertised_ + ":" + std::to_string(getPort());
  }

 protected:
  std::shared_ptr<TSocket> createSocket(int connection) override {
    if (interruptableChildren_) return std::make_shared<Socket>(connection, pChildInterruptSockReader_, limits_);
    return std::make_shared<Socket>(connection, limits_);
  }

 private:
  Listener(std::shared_ptr<TConfiguration> limits, const auto&... where)
      : TServerSocket(where...), limits_(std::move(limits)) {}

  std::shared_ptr<TConfiguration> limits_;
  std::string advertised_;
  bool is_bound_ = false;
};
