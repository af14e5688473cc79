/// Counts the frames between two threads, so that a sender can wait for room.
#pragma once

#include <atomic>

#include "event_loop.hpp"

/// Only the event loop's thread may call `room`. Every thread may call the other public functions.
class Window {
 public:
  explicit Window(EventLoop& loop) : loop_(loop) {}

  void enter() noexcept { frames_.fetch_add(1); }

  void leave() {
    frames_.fetch_sub(1);
    if (is_awaited_) loop_.call([this] { wake(); });
  }

  bool has_room() const noexcept { return frames_ < most_frames; }
  bool is_empty() const noexcept { return frames_ == 0; }

  kj::Promise<void> room() {
    if (has_room()) return kj::READY_NOW;
    is_awaited_ = true;
    if (has_room()) return kj::READY_NOW;  // another thread may have made room meanwhile
    auto waiting = kj::newPromiseAndFulfiller<void>();
    waiting_.add(kj::mv(waiting.fulfiller));
    return kj::mv(waiting.promise);
  }

 private:
  /// The maximum number of frames that wait between two threads.
  static constexpr std::size_t most_frames = 16;

  void wake() {
    if (!has_room()) return;
    is_awaited_ = false;
    for (auto& each : std::exchange(waiting_, {})) each->fulfill();
  }

  EventLoop& loop_;
  std::atomic<std::size_t> frames_ = 0;
  std::atomic<bool> is_awaited_ = false;
  kj::Vector<kj::Own<kj::PromiseFulfiller<void>>> waiting_;
};
