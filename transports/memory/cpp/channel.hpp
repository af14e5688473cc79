/// One link within the process: pooled frames, and the callbacks and queues of its receivers.
#pragma once

#include "hopmeter/hopmeter.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>

namespace memory {

/// A reference to one frame: header and payload in one buffer, free again when the last reference is gone.
using Frame = std::shared_ptr<std::vector<std::byte>>;

/// At most `limit` frames, made when first needed, so a short queue of large images takes little memory.
class Pool {
 public:
  explicit Pool(std::size_t limit) : limit_(limit) { frames_.reserve(limit); }

  /// A frame that nobody else refers to, with room for the payload; none while all are in use.
  Frame* take(std::size_t payload_bytes) {
    Frame* frame = unused();
    if (frame) (*frame)->resize(hopmeter::header_bytes + payload_bytes);
    return frame;
  }

 private:
  Frame* unused() {
    // The frame used last is warm in the cache, and with a direct call it is always free again.
    for (std::size_t step = 0; step < frames_.size(); ++step, last_ = (last_ + 1) % frames_.size()) {
      if (is_unused(frames_[last_])) return &frames_[last_];
    }
    if (frames_.size() == limit_) return nullptr;
    last_ = frames_.size();
    return &frames_.emplace_back(std::make_shared<Frame::element_type>());
  }

  static bool is_unused(const Frame& frame) noexcept {
    if (frame.use_count() != 1) return false;
    // What receivers read before they let go of the frame comes before what is written next.
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }

  std::size_t limit_, last_ = 0;
  std::vector<Frame> frames_;
};

/// A bounded queue of references. Its length stands outside the lock, so that a spinning receiver does not take it.
class Queue {
 public:
  explicit Queue(std::size_t limit) : ring_(limit) {}

  bool has_room() const noexcept { return length_.load(std::memory_order_acquire) < ring_.size(); }

  void push(Frame frame) {
    {
      const std::lock_guard lock(mutex_);
      const auto length = length_.load(std::memory_order_relaxed);
      ring_[(first_ + length) % ring_.size()] = std::move(frame);
      length_.store(length + 1, std::memory_order_release);
    }
    filled_.notify_one();
  }

  /// The oldest frame; sleeps for it where a timeout is given, and only looks where it is zero.
  Frame pop(hopmeter::Timeout timeout) {
    const bool waits = timeout > hopmeter::Timeout::zero();
    if (!waits && is_empty()) return nullptr;
    std::unique_lock lock(mutex_);
    if (waits && is_empty()) filled_.wait_for(lock, timeout);
    if (is_empty()) return nullptr;
    Frame frame = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    length_.fetch_sub(1, std::memory_order_release);
    return frame;
  }

 private:
  bool is_empty() const noexcept { return length_.load(std::memory_order_acquire) == 0; }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Frame> ring_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> length_ = 0;
};

/// The receivers of one link.
class Channel {
 public:
  using Call = std::list<hopmeter::OnFrame>::iterator;

  Call add(hopmeter::OnFrame on_frame) {
    const std::lock_guard lock(mutex_);
    return calls_.insert(calls_.end(), std::move(on_frame));
  }

  void remove(Call call) {
    std::list<hopmeter::OnFrame> removed;
    const std::lock_guard lock(mutex_);
    removed.splice(removed.end(), calls_, call);
  }

  void add(Queue& queue) {
    const std::lock_guard lock(mutex_);
    queues_.push_back(&queue);
  }

  void remove(Queue& queue) {
    const std::lock_guard lock(mutex_);
    std::erase(queues_, &queue);
  }

  /// The receivers, held for one sending: no callback is removed while it may be called.
  class Held {
   public:
    explicit Held(Channel& channel) : channel_(channel), lock_(channel.mutex_) {}

    /// Whether every queue takes one more. Only the one publisher of a link adds, so this stays true until it does.
    bool has_room() const { return std::ranges::all_of(channel_.queues_, &Queue::has_room); }

    /// Hands a frame over: to the callbacks, which it calls on this thread, and a reference to every queue.
    void send(const Frame& frame, const hopmeter::Received& received) const {
      for (const auto& each : channel_.calls_) each(received);
      for (auto* queue : channel_.queues_) queue->push(frame);
    }

   private:
    Channel& channel_;
    std::lock_guard<std::mutex> lock_;
  };

 private:
  std::mutex mutex_;
  std::list<hopmeter::OnFrame> calls_;
  std::vector<Queue*> queues_;
};

}  // namespace memory
