/// One link within the process: pooled frames, and the callbacks and queues of its receivers.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/mailbox.hpp"

namespace memory {

/// A reference to one frame, whose header and payload are in one buffer. The buffer becomes free when the last
/// reference is dropped.
using Frame = std::shared_ptr<std::vector<std::byte>>;
using Queue = hopmeter::Mailbox<Frame>;

/// A pool of at most `limit` frames. Each frame is allocated on first use, so a short queue of large images takes
/// little memory.
class Pool {
 public:
  explicit Pool(std::size_t limit) : limit_(limit) { frames_.reserve(limit); }

  /// Returns an unused frame with room for the payload, or null if all frames are in use.
  Frame* take(std::size_t payload_bytes) {
    Frame* frame = find_unused();
    if (frame) (*frame)->resize(hopmeter::header_bytes + payload_bytes);
    return frame;
  }

 private:
  Frame* find_unused() {
    // The search begins at the last used frame, which is still in the caches and always free after a direct call.
    for (std::size_t step = 0; step < frames_.size(); ++step, last_ = (last_ + 1) % frames_.size()) {
      if (is_unused(frames_[last_])) return &frames_[last_];
    }
    if (frames_.size() == limit_) return nullptr;
    last_ = frames_.size();
    return &frames_.emplace_back(std::make_shared<Frame::element_type>());
  }

  static bool is_unused(const Frame& frame) noexcept {
    if (frame.use_count() != 1) return false;
    // This fence orders the next write after the receivers' reads, which end before the receivers release the frame.
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }

  std::size_t limit_, last_ = 0;
  std::vector<Frame> frames_;
};

/// The receivers of one link: queues and callbacks.
class Channel {
 public:
  template <class Receiver>
  void add(Receiver& receiver) {
    const std::lock_guard lock(mutex_);
    all<Receiver>().push_back(&receiver);
  }

  /// Removes a receiver. Takes the senders' lock, so no callback runs after this function has returned.
  template <class Receiver>
  void remove(Receiver& receiver) {
    const std::lock_guard lock(mutex_);
    std::erase(all<Receiver>(), &receiver);
  }

  /// If every queue has room, calls all callbacks with a frame on this thread and puts a reference into every queue.
  /// `make` returns the frame and its received form, or null.
  hopmeter::Sent send(const auto& make) {
    const std::lock_guard lock(mutex_);
    // Only the link's single publisher adds frames, so the queues keep their room until this publisher adds a frame.
    if (!std::ranges::all_of(all<Queue>(), &Queue::has_room)) return hopmeter::Sent::busy;
    const auto [frame, received] = make();
    if (!frame) return hopmeter::Sent::busy;
    for (const auto* on_frame : all<hopmeter::OnFrame>()) (*on_frame)(received);
    for (auto* queue : all<Queue>()) queue->push(*frame);
    return hopmeter::Sent::accepted;
  }

 private:
  template <class Receiver>
  std::vector<Receiver*>& all() {
    return std::get<std::vector<Receiver*>>(receivers_);
  }

  std::mutex mutex_;
  std::tuple<std::vector<Queue*>, std::vector<hopmeter::OnFrame*>> receivers_;
};

/// A receiver that is registered with its channel until this object is destroyed.
template <class Receiver>
class Membership {
 public:
  Membership(std::shared_ptr<Channel> channel, Receiver& receiver) : channel_(std::move(channel)), receiver_(receiver) {
    channel_->add(receiver_);
  }
  Membership(const Membership&) = delete;
  ~Membership() { channel_->remove(receiver_); }

 private:
  std::shared_ptr<Channel> channel_;
  Receiver& receiver_;
};

}  // namespace memory
