/// A socket on which Beast never waits long for a slow peer.
#pragma once

#include <poll.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <mutex>

namespace beast = boost::beast;
namespace net = boost::asio;
using beast::error_code;

/// A socket over TCP or a Unix socket.
using PlainSocket = net::generic::stream_protocol::socket;

/// How long a peer may accept no bytes of a partly sent message.
inline constexpr std::chrono::milliseconds patience{100};
/// How long a peer may send no bytes during the opening handshake.
inline constexpr std::chrono::milliseconds longest_greeting{5000};

/// Waits briefly if the peer accepts no bytes, and then stores the unsent bytes for `flush`. Beast treats the stored
/// bytes as sent, because Beast could not continue a message after an error.
class PatientSocket final : public PlainSocket {
 public:
  explicit PatientSocket(PlainSocket socket) : PlainSocket(std::move(socket)) { non_blocking(true); }

  // Beast requires the functions that throw, too, but does not call them here.
  using PlainSocket::read_some;
  using PlainSocket::write_some;

  /// Beast calls this function only in the opening handshake, and reads messages with `async_read_some`.
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& failure) {
    if (is_ready(POLLIN, longest_greeting)) return PlainSocket::read_some(buffers, failure);
    failure = net::error::timed_out;
    return 0;
  }

  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, error_code& failure) {
    const std::lock_guard lock(mutex_);
    if (backlog_.size() == 0) {
      auto sent = PlainSocket::write_some(buffers, failure);
      if (failure == net::error::would_block && is_ready(POLLOUT, patience))
        sent = PlainSocket::write_some(buffers, failure);
      if (failure != net::error::would_block) return sent;
    }
    failure = {};
    const auto bytes = net::buffer_size(buffers);
    backlog_.commit(net::buffer_copy(backlog_.prepare(bytes), buffers));
    return bytes;
  }

  /// Sends the stored bytes without waiting. Returns whether the peer has accepted all stored bytes or has
  /// disconnected.
  bool flush() {
    const std::lock_guard lock(mutex_);
    if (backlog_.size() == 0) return true;
    error_code failure;
    backlog_.consume(PlainSocket::write_some(backlog_.data(), failure));
    if (failure && failure != net::error::would_block) backlog_.clear();
    return backlog_.size() == 0;
  }

 private:
  bool is_ready(short events, std::chrono::milliseconds timeout) {
    pollfd place{native_handle(), events, 0};
    return ::poll(&place, 1, static_cast<int>(timeout.count())) > 0;
  }

  std::mutex mutex_;
  beast::flat_buffer backlog_;
};
