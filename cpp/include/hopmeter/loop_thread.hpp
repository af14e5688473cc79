/// A thread that provides callbacks for libraries without callbacks.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "hopmeter/contract.hpp"

namespace hopmeter {

/// Runs a step repeatedly until the object is destroyed. Declare the thread after everything that the step uses.
class LoopThread final : public Subscription {
 public:
  /// `step` handles everything that has arrived, and may sleep. `wake` must interrupt the sleep, so that the destructor
  /// returns quickly.
  template <class Step>
  explicit LoopThread(
      Step step, std::function<void()> wake = [] {})
      : wake_(std::move(wake)), thread_([step = std::move(step)](const std::stop_token& stop) { run(step, stop); }) {}

  /// Waits until the current step has returned.
  ~LoopThread() override {
    thread_.request_stop();
    wake_();
    thread_.join();
  }

 private:
  static void run(const auto& step, const std::stop_token& stop) noexcept try {
    while (!stop.stop_requested()) step();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hopmeter: a receiver's thread has ended, so its callback is not called again: %s\n",
                 error.what());
  }

  std::function<void()> wake_;
  std::jthread thread_;
};

}  // namespace hopmeter
