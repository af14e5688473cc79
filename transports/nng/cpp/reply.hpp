/// The reply to a call, waited for from poll to poll.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "socket.hpp"

/// REQ gives up the whole call when a receive's time limit passes. So a receive without a limit stays pending until the
/// reply comes, and each poll waits for it within a limit of its own.
class Reply {
 public:
  explicit Reply(const Socket& socket) : socket_(*socket) {
    require(nng_aio_alloc(
                &aio_, [](void* self) { static_cast<Reply*>(self)->finish(); }, this),
            "preparing to receive");
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() {
    abandon();
    nng_aio_free(aio_);
  }

  /// The reply, or null when it has not come within `timeout`.
  Message receive(hopmeter::Timeout timeout) {
    if (!std::exchange(pending_, true)) nng_recv_aio(socket_, aio_);
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

 private:
  /// What nng calls, on a thread of its own.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      is_finished_ = true;
    }
    finished_.notify_one();
  }

  nng_socket socket_;
  nng_aio* aio_ = nullptr;
  bool pending_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
};
