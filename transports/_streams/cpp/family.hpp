/// The addressing of one kind of stream, which is the only difference between `unix` and `tcp`.
#pragma once

#include <cerrno>
#include <optional>

#include "socket.hpp"

namespace streams {

/// A frame with its prefix, as sent on a connection.
using Message = std::span<const std::byte>;

/// The maximum number of connections in the accept queue.
inline constexpr int listen_backlog = 128;

/// A listening socket, and the address to which receivers connect.
struct Endpoint {
  Socket listener;
  std::string address;
};

/// Accepts the next connection of a non-blocking listening socket, or returns nothing if no connection waits.
inline std::optional<Socket> accept_on(const Socket& listener) {
  for (;;) {
    Socket connection(::accept4(*listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (*connection >= 0) return connection;
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR && errno != ECONNABORTED) throw Error::system("accepting a connection");
  }
}

class Family {
 public:
  virtual ~Family() = default;

  /// How the bytes travel, as reported in the result.
  virtual std::string path() const = 0;
  /// Opens the listening socket of a link.
  virtual Endpoint listen(const hopmeter::Link& link) const = 0;
  /// Accepts the next waiting receiver, or returns nothing if no receiver waits.
  virtual std::optional<Socket> accept(const Socket& listener) const {
    auto connection = accept_on(listener);
    if (connection) configure(*connection);
    return connection;
  }
  /// Sets the options that an accepted connection does not inherit from the listening socket.
  virtual void configure(const Socket&) const {}
  /// Connects a receiver.
  virtual Socket connect(const std::string& address) const = 0;
  /// Removes files that `listen` created.
  virtual void remove_endpoint(const std::string&) const noexcept {}
};

}  // namespace streams
