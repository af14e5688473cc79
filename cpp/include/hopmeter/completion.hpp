/// Lets a thread wait until a library has run its last callback.
#pragma once

#include <condition_variable>
#include <mutex>

namespace hopmeter {

/// Unlike a `std::latch`, a `Completion` may be destroyed as soon as `wait` returns.
class Completion {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace hopmeter
