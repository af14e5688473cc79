/// A timeout for YARP's `read`, which sleeps until a message arrives or another thread interrupts the read.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

namespace yarps {

/// Checks periodically whether a wait has lasted too long. Shorter waits cost almost nothing.
class Alarm {
 public:
  /// `interrupt` ends a wait, and is called on the alarm's thread.
  explicit Alarm(std::function<void()> interrupt)
      : interrupt_(std::move(interrupt)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// Begins a wait with an approximate timeout.
  void begin(std::chrono::nanoseconds timeout) { end_ = (Clock::now() + timeout).time_since_epoch().count(); }
  /// Ends the wait.
  void end() { end_ = never; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::rep never = std::numeric_limits<Clock::rep>::max();
  /// The maximum delay with which an expired wait ends.
  static constexpr std::chrono::milliseconds nap{25};

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      sleep_.wait_for(lock, stop, nap, [] { return false; });
      auto end = end_.load();
      if (Clock::now().time_since_epoch().count() >= end && end_.compare_exchange_strong(end, never)) interrupt_();
    }
  }

  std::function<void()> interrupt_;
  std::atomic<Clock::rep> end_ = never;
  std::mutex mutex_;
  std::condition_variable_any sleep_;
  std::jthread thread_;
};

}  // namespace yarps
