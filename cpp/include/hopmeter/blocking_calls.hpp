/// Makes the calls of a client whose library has only blocking calls.
#pragma once

#include <atomic>
#include <optional>

#include "hopmeter/loop_thread.hpp"
#include "hopmeter/mailbox.hpp"

namespace hopmeter {

/// Makes calls on a separate thread, one at a time. A class must declare its `BlockingCalls` member after everything
/// that a call uses.
template <class Request, class Reply>
class BlockingCalls {
 public:
  /// `call` returns the reply to a request, or nothing if there is no reply. `interrupt` ends a call that is in
  /// progress.
  template <class Call>
  BlockingCalls(Call call, std::function<void()> interrupt)
      : thread_([this, call = std::move(call)] { make_next(call); },
                [this, interrupt = std::move(interrupt)] {
                  is_closing_ = true;
                  requests_.push({});
                  interrupt();
                }) {}

  /// Whether no call is in progress, so that a new call may start.
  bool is_idle() const noexcept { return is_idle_; }

  void start(Request request) {
    is_idle_ = false;
    requests_.push(std::move(request));
  }

  /// Waits for a reply; returns nothing if none arrives within `timeout`.
  std::optional<Reply> poll(Timeout timeout) { return replies_.pop(timeout); }

 private:
  /// The longest sleep of the thread before it checks again for a request.
  static constexpr std::chrono::minutes nap{1};

  void make_next(const auto& call) {
    auto request = requests_.pop(nap);
    if (!request || is_closing_) return;
    std::optional<Reply> reply = call(*request);
    is_idle_ = true;
    if (reply) replies_.push(std::move(reply));
  }

  std::atomic<bool> is_idle_ = true, is_closing_ = false;
  Mailbox<std::optional<Request>> requests_{1};
  Mailbox<std::optional<Reply>> replies_{1};
  LoopThread thread_;
};

}  // namespace hopmeter
