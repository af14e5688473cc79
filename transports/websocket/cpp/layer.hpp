/// The layer below a WebSocket: a socket, with TLS above it if the connection is encrypted.
#pragma once

#include <boost/asio/ssl.hpp>
#include <memory>
#include <optional>
#include <string>

#include "hopmeter/credentials.hpp"
#include "patient_socket.hpp"

/// The TLS contexts of clients and servers. Both are null if connections are not encrypted.
struct Encryption {
  explicit Encryption(const hopmeter::Setup& setup) {
    if (!hopmeter::uses_tls(setup)) return;
    client = std::make_shared<net::ssl::context>(net::ssl::context::tls_client);
    client->load_verify_file(hopmeter::credential(setup, "ca.pem"));
    client->set_verify_mode(net::ssl::verify_peer);
    server = std::make_shared<net::ssl::context>(net::ssl::context::tls_server);
    server->use_certificate_file(hopmeter::credential(setup, "server.pem"), net::ssl::context::pem);
    server->use_private_key_file(hopmeter::credential(setup, "server.key"), net::ssl::context::pem);
  }

  bool is_on() const noexcept { return client != nullptr; }

  std::shared_ptr<net::ssl::context> client, server;
};

/// Beast uses this class as its stream. The same class serves encrypted and unencrypted connections, so that the
/// compiler builds Beast only once.
class Layer {
 public:
  using executor_type = PatientSocket::executor_type;

  /// The connection is encrypted if `tls` is not null.
  Layer(PlainSocket socket, const std::shared_ptr<net::ssl::context>& tls) : socket_(std::move(socket)) {
    if (tls) tls_.emplace(socket_, *tls);
  }
  Layer(const Layer&) = delete;

  /// If the connection is encrypted, completes the TLS handshake as a client. The client verifies that the server's
  /// certificate contains the host.
  void connect(const std::string& host) {
    if (!tls_) return;
    tls_->set_verify_callback(net::ssl::host_name_verification(host));
    tls_->handshake(net::ssl::stream_base::client);
  }

  /// If the connection is encrypted, completes the TLS handshake as a server.
  void accept() {
    if (tls_) tls_->handshake(net::ssl::stream_base::server);
  }

  PatientSocket& next_layer() noexcept { return socket_; }
  executor_type get_executor() noexcept { return socket_.get_executor(); }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& failure) {
    return tls_ ? tls_->read_some(buffers, failure) : socket_.read_some(buffers, failure);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, error_code& failure) {
    return tls_ ? tls_->write_some(buffers, failure) : socket_.write_some(buffers, failure);
  }

  // Beast also requires these functions, which throw, but does not call them here.
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    return tls_ ? tls_->read_some(buffers) : socket_.read_some(buffers);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    return tls_ ? tls_->write_some(buffers) : socket_.write_some(buffers);
  }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    else
      socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    else
      socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  PatientSocket socket_;
  std::optional<net::ssl::stream<PatientSocket&>> tls_;
};

// Beast closes the layer below a WebSocket with these functions, because Beast's own functions accept only Beast's
// types. An encrypted connection ends without a message of TLS, because the WebSocket protocol has its own end message.
inline void teardown(beast::role_type role, Layer& layer, error_code& failure) {
  beast::websocket::teardown(role, static_cast<PlainSocket&>(layer.next_layer()), failure);
}

template <class Handler>
void async_teardown(beast::role_type role, Layer& layer, Handler&& handler) {
  beast::websocket::async_teardown(role, static_cast<PlainSocket&>(layer.next_layer()), std::forward<Handler>(handler));
}
