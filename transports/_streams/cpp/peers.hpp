/// The receivers of a publisher, each with its unsent bytes.
#pragma once

#include <cerrno>
#include <exception>
#include <mutex>
#include <optional>

#include "family.hpp"

namespace streams {

/// A connected receiver, with the unsent part of a message to it.
class Peer {
 public:
  explicit Peer(Socket connection) : connection_(std::move(connection)) {}

  const Socket& connection() const noexcept { return connection_; }
  bool is_behind() const noexcept { return flushed_ < backlog_.size(); }
  bool is_gone() const noexcept { return is_gone_; }

  /// Sends the backlog without waiting.
  void flush() {
    const auto sent = connection_.send_some(std::span(backlog_).subspan(flushed_), false);
    is_gone_ = !sent;
    flushed_ += sent.value_or(0);
  }

  /// Sends a message, and returns false if the receiver accepted nothing. If a receiver already has a part of the
  /// message, waits to send the rest, and queues the bytes that the receiver still refuses.
  bool send(std::span<const std::byte> message, bool begun) {
    const auto first = connection_.send_some(message, false);
    if (first && *first == message.size()) return true;
    if (first && *first == 0 && !begun) return false;
    const auto rest = message.subspan(first.value_or(0));
    const auto second = first ? connection_.send_some(rest, true) : std::nullopt;
    is_gone_ = !second;
    if (second) store(rest.subspan(*second));
    return !is_gone_;
  }

 private:
  void store(std::span<const std::byte> rest) {
    backlog_.assign(rest.begin(), rest.end());
    flushed_ = 0;
  }

  Socket connection_;
  std::vector<std::byte> backlog_;
  std::size_t flushed_ = 0;
  bool is_gone_ = false;
};

/// All connected receivers. Callers of these functions must hold the mutex.
class Peers {
 public:
  std::mutex mutex;

  void add(Socket connection) {
    if (!connection.is_pipe()) connection.set_timeout(SO_SNDTIMEO, patience, "SO_SNDTIMEO");
    peers_.emplace_back(std::move(connection));
  }

  /// Stores the reason why no more receivers can connect; the next send throws this error.
  void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }

  /// Whether every receiver has accepted the previous message. Throws once if no more receivers can connect.
  bool is_ready() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return !is_any_behind();
  }

  bool is_any_behind() const noexcept { return behind_ > 0; }

  void for_each_behind(auto&& visit) const {
    for (const auto& peer : peers_) {
      if (peer.is_behind()) visit(peer.connection());
    }
  }

  /// Sends the receivers' backlogs without waiting.
  void flush() {
    for (auto& peer : peers_) {
      if (peer.is_behind()) peer.flush();
    }
    count();
  }

  /// Sends one message to all receivers, or returns busy if the first receiver accepts nothing.
  hopmeter::Sent send(std::span<const std::byte> message) {
    bool begun = false, busy = false;
    for (auto& peer : peers_) {
      const bool any = peer.send(message, begun);
      begun = begun || any;
      busy = !any && !peer.is_gone();
      if (busy) break;
    }
    count();
    return busy ? hopmeter::Sent::busy : hopmeter::Sent::accepted;
  }

 private:
  /// Removes disconnected receivers, and counts the receivers with a backlog.
  void count() {
    std::erase_if(peers_, &Peer::is_gone);
    behind_ = std::ranges::count_if(peers_, &Peer::is_behind);
  }

  std::vector<Peer> peers_;
  std::ptrdiff_t behind_ = 0;
  std::exception_ptr failure_;
};

}  // namespace streams
