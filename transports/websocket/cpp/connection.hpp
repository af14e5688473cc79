/// A WebSocket connection, and an inbox for the messages of several connections.
#pragma once

#include <deque>
#include <memory>

#include "hopmeter/hopmeter.hpp"
#include "layer.hpp"

/// A complete message.
using Message = std::span<const std::byte>;

/// The options of a connection, from the settings.
struct Options {
  explicit Options(const hopmeter::Setup& setup)
      : write_buffer(setup.setting<std::size_t>("write_buffer")), auto_fragment(setup.setting<bool>("auto_fragment")) {
    deflate.server_enable = deflate.client_enable = setup.setting<std::string>("compression") == "deflate";
  }

  std::size_t write_buffer;
  bool auto_fragment;
  beast::websocket::permessage_deflate deflate;
};

class Connection final : public hopmeter::Replier, public std::enable_shared_from_this<Connection> {
 public:
  /// The connection is encrypted if `tls` is not null.
  Connection(PlainSocket socket, const std::shared_ptr<net::ssl::context>& tls, const Options& options,
             std::size_t frame_bytes)
      : socket_(std::move(socket), tls) {
    socket_.binary(true);
    socket_.read_message_max(frame_bytes);
    socket_.write_buffer_bytes(options.write_buffer);
    socket_.auto_fragment(options.auto_fragment);
    socket_.set_option(options.deflate);
  }

  /// Completes the handshakes of TLS and WebSocket with a server. The address is a host with or without a port.
  void connect(const std::string& address, const std::string& target) {
    socket_.next_layer().connect(address.substr(0, address.rfind(':')));
    socket_.handshake(address, target);
  }
  void accept() {
    socket_.next_layer().accept();
    socket_.accept();
  }

  /// Whether the peer has disconnected.
  bool has_ended() const noexcept { return has_ended_; }
  /// Sends as many unsent bytes as possible, and returns whether the peer has accepted all messages.
  bool is_ready() { return patient().flush(); }

  /// Sends a message. The io_context later sends the unsent bytes of a slow peer. A message to a disconnected peer is
  /// lost.
  void send(Message message) {
    error_code failure;
    socket_.write(net::buffer(message.data(), message.size()), failure);
    has_ended_ = failure.failed();
    if (!is_ready()) flush_later();
  }

  /// Sends the message that `write` returns, unless the previous message is still incomplete.
  hopmeter::Sent send_unless_behind(const auto& write) {
    if (!is_ready()) return hopmeter::Sent::busy;
    send(write());
    return hopmeter::Sent::accepted;
  }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return send_unless_behind([&] { return draft_.write(payload_bytes, fill); });
  }
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    return send_unless_behind([&] { return received.require_native<Message>("a WebSocket"); });
  }

  /// Receives the next message; then the io_context calls `arrived(connection, failure)`. Until then, the io_context
  /// owns the connection.
  void receive(auto arrived) {
    buffer_.clear();
    socket_.async_read(buffer_, [self = shared_from_this(), arrived](error_code failure, std::size_t) mutable {
      arrived(std::move(self), failure);
    });
  }
  Message message() const { return {static_cast<const std::byte*>(buffer_.cdata().data()), buffer_.size()}; }

 private:
  PatientSocket& patient() { return socket_.next_layer().next_layer(); }

  void flush_later() {
    patient().async_wait(PlainSocket::wait_write, [self = shared_from_this()](error_code failure) {
      if (!failure && !self->is_ready()) self->flush_later();
    });
  }

  beast::websocket::stream<Layer> socket_;
  beast::flat_buffer buffer_;
  hopmeter::Draft draft_;
  bool has_ended_ = false;
};

using SharedConnection = std::shared_ptr<Connection>;

/// Receives the messages of connections with an io_context on the polling thread.
class Inbox {
 public:
  explicit Inbox(const hopmeter::Link& link) : spins_(link.wait == hopmeter::Wait::spin) {}

  net::io_context& context() noexcept { return context_; }

  /// Receives from a connection until its peer disconnects. Must be called on the polling thread.
  void add(SharedConnection connection) {
    connection->receive(
        [this](SharedConnection from, error_code failure) { arrived_.emplace_back(std::move(from), failure); });
  }

  /// Calls `handle(received, connection)` for each message that has arrived, and waits for a message if none has
  /// arrived.
  std::size_t poll(hopmeter::Timeout timeout, const auto& handle) {
    run(timeout);
    std::size_t messages = 0;
    for (; !arrived_.empty(); arrived_.pop_front()) {
      const auto& [connection, failure] = arrived_.front();
      if (failure) {
        require_farewell(failure);
        continue;
      }
      const Message message = connection->message();
      handle(hopmeter::Received::split(message).with_native(&message), *connection);
      ++messages;
      add(connection);
    }
    return messages;
  }

 private:
  void run(hopmeter::Timeout timeout) {
    if (spins_) {
      context_.poll();
      return;
    }
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (arrived_.empty() && context_.run_one_until(deadline) > 0) {
    }
  }

  /// Throws the reason for a connection's end, unless its peer has disconnected.
  static void require_farewell(error_code failure) {
    for (const auto& gone : {error_code(beast::websocket::error::closed), error_code(net::error::eof),
                             error_code(net::error::connection_reset), error_code(net::error::broken_pipe),
                             error_code(net::error::operation_aborted), error_code(net::ssl::error::stream_truncated)})
      if (failure == gone) return;
    throw hopmeter::Error("receiving a message: " + failure.message());
  }

  bool spins_;
  net::io_context context_{1};
  net::executor_work_guard<net::io_context::executor_type> works_{context_.get_executor()};
  std::deque<std::pair<SharedConnection, error_code>> arrived_;
};
