/// A queue between a thread that delivers items and a thread that polls for items.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "hopmeter/contract.hpp"

namespace hopmeter {

/// The length is readable without the lock, so a spinning receiver takes no lock if the mailbox is empty.
template <class Item>
class Mailbox {
 public:
  /// `limit` is the mailbox's capacity. Senders that must respect the capacity check `has_room` first, because a full
  /// mailbox grows.
  explicit Mailbox(std::size_t limit) : limit_(limit), ring_(limit) {}

  bool has_room() const noexcept { return length_.load(std::memory_order_acquire) < limit_; }

  void push(Item item) {
    {
      const std::lock_guard lock(mutex_);
      const auto length = length_.load(std::memory_order_relaxed);
      if (length == ring_.size()) grow();
      ring_[(first_ + length) % ring_.size()] = std::move(item);
      length_.store(length + 1, std::memory_order_release);
    }
    filled_.notify_one();
  }

  /// Returns the oldest item, or an empty item after the timeout. A timeout of zero checks once without sleeping.
  Item pop(Timeout timeout) {
    const bool waits = timeout > Timeout::zero();
    if (!waits && is_empty()) return {};
    std::unique_lock lock(mutex_);
    if (waits && is_empty()) filled_.wait_for(lock, timeout);
    if (is_empty()) return {};
    Item item = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    length_.fetch_sub(1, std::memory_order_release);
    return item;
  }

 private:
  bool is_empty() const noexcept { return length_.load(std::memory_order_acquire) == 0; }

  void grow() {
    std::ranges::rotate(ring_, ring_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    ring_.resize(2 * ring_.size() + 1);
  }

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Item> ring_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> length_ = 0;
};

}  // namespace hopmeter
