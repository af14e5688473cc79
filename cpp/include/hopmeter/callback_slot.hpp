/// A slot for a callback. Other threads may call the callback while the slot sets or removes it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hopmeter/contract.hpp"

namespace hopmeter {

/// Holds an `OnFrame`, an `OnRequest` or nothing. The slot runs only one call at a time.
template <class Callback>
class CallbackSlot {
 public:
  /// Returns whether the slot holds a callback; if so, first calls `use(callback)`.
  bool call(const auto& use) {
    const std::lock_guard lock(mutex_);
    if (callback_) use(*callback_);
    return callback_.has_value();
  }

  void set(Callback callback) {
    const std::lock_guard lock(mutex_);
    callback_.emplace(std::move(callback));
  }

  /// Removes the callback after waiting for a running call.
  void clear() {
    const std::lock_guard lock(mutex_);
    callback_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<Callback> callback_;
};

/// A subscription that puts its callback into a slot, and removes the callback on destruction.
template <class Callback>
class SlotSubscription final : public Subscription {
 public:
  SlotSubscription(std::shared_ptr<CallbackSlot<Callback>> slot, Callback callback) : slot_(std::move(slot)) {
    slot_->set(std::move(callback));
  }
  ~SlotSubscription() override { slot_->clear(); }

 private:
  std::shared_ptr<CallbackSlot<Callback>> slot_;
};

}  // namespace hopmeter
