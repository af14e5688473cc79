/// Receiving from a socket, polled or called, by nng's asynchronous operations.
#pragma once

#include <condition_variable>
#include <mutex>

#include "socket.hpp"

/// Receives one message at a time and never waits longer than it is told.
///
/// A receive with a time limit would do for most sockets, but nng wakes a thread of its own for each limit, and REQ
/// gives up the whole call when one passes. So a receive without a limit stays pending from poll to poll.
class Inbox {
 public:
  Inbox(const Socket& socket, hopmeter::Wait wait) : socket_(*socket), spins_(wait == hopmeter::Wait::spin) {
    require(nng_aio_alloc(
                &aio_, [](void* self) { static_cast<Inbox*>(self)->finish(); }, this),
            "preparing to receive");
  }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox() {
    abandon();
    nng_aio_free(aio_);
  }

  /// The next message, or null when none has come within `timeout`.
  Message receive(hopmeter::Timeout timeout) {
    if (!pending_) {
      // What is there already is handed over at once here; as an operation it would come from another thread.
      if (auto message = look()) return message;
      if (spins_) return {};
      pending_ = true;
      nng_recv_aio(socket_, aio_);
    }
    std::unique_lock lock(mutex_);
    if (!finished_.wait_for(lock, timeout, [&] { return is_finished_; })) return {};
    pending_ = is_finished_ = false;
    require(nng_aio_result(aio_), "receiving with nng");
    return Message(nng_aio_get_msg(aio_));
  }

  /// Ends a receive that is pending; its message, if it has come after all, is dropped.
  void abandon() noexcept {
    if (!pending_) return;
    nng_aio_cancel(aio_);
    nng_aio_wait(aio_);
    if (nng_aio_result(aio_) == 0) Message(nng_aio_get_msg(aio_)).reset();
    pending_ = is_finished_ = false;
  }

  bool spins() const noexcept { return spins_; }

 private:
  Message look() {
    nng_msg* message = nullptr;
    const int code = nng_recvmsg(socket_, &message, NNG_FLAG_NONBLOCK);
    if (code != NNG_EAGAIN) require(code, "receiving with nng");
    return Message(message);
  }

  /// What nng calls, on a thread of its own.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      is_finished_ = true;
    }
    finished_.notify_one();
  }

  nng_socket socket_;
  bool spins_;
  nng_aio* aio_ = nullptr;
  bool pending_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
};
