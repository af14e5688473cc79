/// Memory for large messages. Without the pool, each message would use new pages, and each page costs a page fault.
/// Frames begin half a page after a page boundary, because the kernel's copying time depends on a frame's offset in its
/// page. Compared with frames at half a page, a copy from the beginning of a page into a TCP socket takes 1.16 times as
/// long. A copy from an offset of 64 bytes into a Unix socket takes 1.06 times as long
/// (docs/findings/2026-11-23-page-offset-of-large-messages.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

/// A pool of frames, which ZeroMQ releases on its I/O threads. The pool outlives the context, whose end waits until all
/// frames are released.
class Pool {
 public:
  /// Messages of at least this size are written into the pool.
  static constexpr std::size_t least_bytes = 64 << 10;

  explicit Pool(std::size_t frame_bytes) : frame_bytes_(frame_bytes) {}

  /// Returns a frame, or null if ZeroMQ holds the maximum number of frames. Allocates a frame if none is free.
  std::byte* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && frames_.size() < std::max<std::size_t>(4, budget_bytes / frame_bytes_)) add();
    if (free_.empty()) return nullptr;
    std::byte* frame = free_.back();
    free_.pop_back();
    return frame;
  }

  /// ZeroMQ calls this function on its own threads.
  static void give_back(void* frame, void* pool) noexcept {
    auto& ours = *static_cast<Pool*>(pool);
    const std::lock_guard lock(ours.mutex_);
    ours.free_.push_back(static_cast<std::byte*>(frame));
  }

 private:
  static constexpr std::size_t budget_bytes = 256 << 20;
  static constexpr std::align_val_t page{4096};
  static constexpr std::size_t lead_bytes = 2048;

  struct Delete {
    void operator()(std::byte* pages) const noexcept { ::operator delete(pages, page); }
  };

  void add() {
    frames_.emplace_back(static_cast<std::byte*>(::operator new(lead_bytes + frame_bytes_, page)));
    std::byte* frame = frames_.back().get() + lead_bytes;
    std::fill_n(frame, frame_bytes_, std::byte{});
    // Returning a frame must not fail, so memory for the list of free frames is reserved here.
    free_.reserve(frames_.size());
    free_.push_back(frame);
  }

  std::size_t frame_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte, Delete>> frames_;
  std::vector<std::byte*> free_;
};
