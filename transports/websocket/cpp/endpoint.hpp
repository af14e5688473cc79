/// The addresses of link ends, and the thread that accepts the peers of a link end.
#pragma once

#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>

#include "connection.hpp"
#include "hopmeter/host_port.hpp"

/// The state that all link ends of the process share.
struct Endpoint {
  explicit Endpoint(const hopmeter::Setup& setup)
      : setup(setup), is_unix(setup.setting<std::string>("endpoint") == "unix"), options(setup), encryption(setup) {}

  using Address = net::generic::stream_protocol::endpoint;

  static Address tcp(const std::string& host, std::uint16_t port) {
    return net::ip::tcp::endpoint(net::ip::make_address(host), port);
  }

  void set_options(auto& socket) const {
    if (!is_unix) socket.set_option(net::ip::tcp::no_delay(true));
  }

  /// Connects to the listening end of a link, and completes the handshake.
  SharedConnection connect(net::io_context& context, const hopmeter::Link& link) const try {
    PlainSocket socket(context);
    if (is_unix) {
      socket.connect(net::local::stream_protocol::endpoint(link.address));
    } else {
      const auto [host, port] = hopmeter::HostPort::parse(link.address);
      socket.connect(tcp(host, port));
    }
    set_options(socket);
    auto connection = std::make_shared<Connection>(std::move(socket), encryption.client, options, link.frame_bytes);
    connection->connect(is_unix ? "localhost" : link.address, "/" + link.name);
    return connection;
  } catch (const boost::system::system_error&) {
    const std::string scheme = encryption.is_on() ? "wss://" : "ws://";
    std::throw_with_nested(hopmeter::Error("opening the WebSocket " + scheme + link.address + "/" + link.name));
  }

  hopmeter::Setup setup;
  bool is_unix;
  Options options;
  Encryption encryption;
};

/// Accepts connections on its own thread, until the acceptor is destroyed.
class Acceptor {
 public:
  /// Calls `admit` with every connection whose handshake has succeeded. `inbox` receives the messages of these
  /// connections. Without an inbox, the acceptor's thread sends the unsent bytes of slow peers.
  Acceptor(const Endpoint& endpoint, const hopmeter::Link& link, net::io_context* inbox,
           std::function<void(SharedConnection)> admit)
      : endpoint_(endpoint),
        frame_bytes_(link.frame_bytes),
        inbox_(inbox ? *inbox : context_),
        admit_(std::move(admit)) {
    listen(link);
    accept_next();
    thread_ = std::thread([this] { context_.run(); });
  }
  Acceptor(const Acceptor&) = delete;

  ~Acceptor() {
    stop();
    std::error_code ignored;  // the launcher removes the folder anyway
    if (endpoint_.is_unix) std::filesystem::remove(address_, ignored);
  }

  const std::string& address() const noexcept { return address_; }

  /// Stops the thread. Destroy admitted connections without an inbox afterwards, but before the acceptor.
  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void listen(const hopmeter::Link& link) try {
    const auto& setup = endpoint_.setup;
    address_ = endpoint_.is_unix ? setup.directory() + "/" + link.name + ".ws" : setup.advertised();
    const Endpoint::Address place =
        endpoint_.is_unix ? net::local::stream_protocol::endpoint(address_) : Endpoint::tcp(setup.bind(), 0);
    listener_.open(place.protocol());
    listener_.bind(place);
    listener_.listen();
    if (!endpoint_.is_unix) address_ += ":" + std::to_string(port());
  } catch (const boost::system::system_error&) {
    std::throw_with_nested(hopmeter::Error("listening at " + address_, "set TMPDIR to a folder with a shorter path"));
  }

  std::uint16_t port() const {
    const auto bound = listener_.local_endpoint();
    return ntohs(reinterpret_cast<const sockaddr_in*>(bound.data())->sin_port);
  }

  void accept_next() {
    const PlainSocket::executor_type executor = inbox_.get_executor();
    listener_.async_accept(executor, [this](error_code failure, PlainSocket socket) {
      if (failure) {
        std::cerr << "no more connections are accepted: " << failure.message() << '\n';
        return;
      }
      greet(std::move(socket));
      accept_next();
    });
  }

  /// Disconnects a peer that fails the handshake.
  void greet(PlainSocket socket) try {
    endpoint_.set_options(socket);
    auto connection =
        std::make_shared<Connection>(std::move(socket), endpoint_.encryption.server, endpoint_.options, frame_bytes_);
    connection->accept();
    admit_(std::move(connection));
  } catch (const boost::system::system_error&) {
  }

  const Endpoint& endpoint_;
  std::size_t frame_bytes_;
  std::string address_;
  net::io_context context_{1};
  net::io_context& inbox_;
  std::function<void(SharedConnection)> admit_;
  net::basic_socket_acceptor<net::generic::stream_protocol> listener_{context_};
  std::thread thread_;
};
