/// A place for a callback that comes and goes while other threads want to call it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hopmeter/contract.hpp"

namespace hopmeter {

/// Holds an `OnFrame` or an `OnRequest`, or none. Calls come one at a time.
template <class Callback>
class CallbackSlot {
 public:
  /// Calls `use(callback)` if there is a callback; returns whether there is.
  bool call(const auto& use) {
    const std::lock_guard lock(mutex_);
    if (callback_) use(*callback_);
    return callback_.has_value();
  }

  void set(Callback callback) {
    const std::lock_guard lock(mutex_);
    callback_.emplace(std::move(callback));
  }

  /// Returns when no call is running.
  void clear() {
    const std::lock_guard lock(mutex_);
    callback_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<Callback> callback_;
};

/// Has its callback in a slot as long as it lives.
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
