/// A slot for a callback that can be set and removed while other threads want to call it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hopmeter/contract.hpp"

namespace hopmeter {

/// Holds an `OnFrame`, an `OnRequest` or nothing. Only one call runs at a time.
template <class Callback>
class CallbackSlot {
 public:
  /// Calls `use(callback)` if there is a callback; returns whether there is one.
  bool call(const auto& use) {
    const std::lock_guard lock(mutex_);
    if (callback_) use(*callback_);
    return callback_.has_value();
  }

  void set(Callback callback) {
    const std::lock_guard lock(mutex_);
    callback_.emplace(std::move(callback));
  }

  /// Removes the callback; waits for a running call.
  void clear() {
    const std::lock_guard lock(mutex_);
    callback_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<Callback> callback_;
};

/// A subscription whose callback is in a slot until the subscription is destroyed.
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
