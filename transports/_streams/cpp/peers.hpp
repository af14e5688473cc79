/// Those who have connected to a publisher, and what each of them has not taken yet.
#pragma once

#include <cerrno>
#include <exception>
#include <mutex>
#include <optional>

#include "family.hpp"

namespace streams {

/// How long a receiver may take no byte of a message that has begun to leave.
inline constexpr std::chrono::milliseconds patience{100};

/// Sends as much as the socket takes: at once with MSG_DONTWAIT, else until it has taken nothing for `patience`.
/// Nothing for a receiver that is gone.
inline std::optional<std::size_t> send_some(const Socket& connection, std::span<const std::byte> bytes, int flags) {
  for (;;) {
    const auto sent = ::send(*connection, bytes.data(), bytes.size(), flags | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return std::nullopt;
  }
}

/// One that has connected, with the rest of a message that it was too slow for.
class Receiving {
 public:
  explicit Receiving(Socket connection) : connection_(std::move(connection)) {}

  const Socket& connection() const noexcept { return connection_; }
  bool is_behind() const noexcept { return flushed_ < backlog_.size(); }
  bool is_gone() const noexcept { return gone_; }

  /// Sends what is left, without waiting.
  void flush() {
    const auto sent = send_some(connection_, std::span(backlog_).subspan(flushed_), MSG_DONTWAIT);
    gone_ = !sent;
    flushed_ += sent.value_or(0);
  }

  /// Answers whether anything has left. Of a message that another receiver has got already, or that has begun to leave
  /// to this one, everything will leave.
  bool send(std::span<const std::byte> message, bool begun) {
    const auto first = send_some(connection_, message, MSG_DONTWAIT);
    if (first && *first == message.size()) return true;
    if (first && *first == 0 && !begun) return false;
    const auto rest = message.subspan(first.value_or(0));
    const auto second = first ? send_some(connection_, rest, 0) : std::nullopt;
    gone_ = !second;
    if (second) keep(rest.subspan(*second));
    return !gone_;
  }

 private:
  void keep(std::span<const std::byte> rest) {
    backlog_.assign(rest.begin(), rest.end());
    flushed_ = 0;
  }

  Socket connection_;
  std::vector<std::byte> backlog_;
  std::size_t flushed_ = 0;
  bool gone_ = false;
};

/// All that have connected so far. Whoever uses it holds its mutex.
class Receivers {
 public:
  std::mutex mutex;

  void admit(Socket connection) {
    connection.set_timeout(SO_SNDTIMEO, patience, "SO_SNDTIMEO");
    connected_.emplace_back(std::move(connection));
  }

  /// Why no more can connect, to be told at the next send.
  void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }

  /// Whether everybody has taken what was sent before; tells once why no more can connect.
  bool are_ready() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return !are_behind();
  }

  bool are_behind() const noexcept { return behind_ > 0; }

  void for_each_behind(auto&& visit) const {
    for (const auto& receiver : connected_) {
      if (receiver.is_behind()) visit(receiver.connection());
    }
  }

  /// Sends what is left of an earlier message, without waiting.
  void flush() {
    for (auto& receiver : connected_) {
      if (receiver.is_behind()) receiver.flush();
    }
    count();
  }

  /// Sends one message to all, or to none and is busy.
  hopmeter::Sent send(std::span<const std::byte> message) {
    bool begun = false, busy = false;
    for (auto& receiver : connected_) {
      const bool any = receiver.send(message, begun);
      begun = begun || any;
      busy = !any && !receiver.is_gone();
      if (busy) break;
    }
    count();
    return busy ? hopmeter::Sent::busy : hopmeter::Sent::accepted;
  }

 private:
  /// Forgets those that are gone, and counts those that are behind.
  void count() {
    std::erase_if(connected_, &Receiving::is_gone);
    behind_ = std::ranges::count_if(connected_, &Receiving::is_behind);
  }

  std::vector<Receiving> connected_;
  std::ptrdiff_t behind_ = 0;
  std::exception_ptr failure_;
};

}  // namespace streams
