/// A server for libraries that call a handler on their own threads and send the reply that the handler returns.
#pragma once

#include "hopmeter/callback_slot.hpp"
#include "hopmeter/completion.hpp"
#include "hopmeter/mailbox.hpp"

namespace hopmeter {

/// With `callback`, the library's thread calls the endpoint. With `block`, the library's thread passes the request to
/// the endpoint's thread, and waits until the request has been handled. A derived class calls `answer` in its handler,
/// and `close` before it ends the library's server.
class CalledServer : public Server {
 public:
  explicit CalledServer(const Link& link) : is_called_(link.wait == Wait::callback) {}

  std::size_t poll(Timeout timeout, Handle handle) override {
    Visit* visit = visits_.pop(timeout);
    if (!visit) return 0;
    const Departure departure{*visit};
    handle(visit->received, visit->replier);
    return 1;
  }

  Owned<Subscription> serve(OnRequest on_request) override {
    return std::make_unique<SlotSubscription<OnRequest>>(slot_, std::move(on_request));
  }

 protected:
  /// Lets the endpoint handle a request, and returns when the request has been handled. Any thread of the library may
  /// call this function.
  void answer(const Received& received, Replier& replier) {
    if (is_called_) {
      slot_->call([&](const auto& on_request) { on_request(received, replier); });
      return;
    }
    Visit visit{received.stamp_arrival(), replier, {}};
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      visits_.push(&visit);
    }
    visit.is_handled.wait();
  }

  /// Releases the library's threads. Waiting requests and later requests stay unanswered.
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    while (Visit* visit = visits_.pop(Timeout::zero())) visit->is_handled.set();
  }

 private:
  struct Visit {
    Received received;
    Replier& replier;
    Completion is_handled;
  };

  /// Releases the library's thread, even if the endpoint fails.
  struct Departure {
    Visit& visit;
    ~Departure() { visit.is_handled.set(); }
  };

  /// The mailbox's initial capacity in requests.
  static constexpr std::size_t usual_visits = 64;

  const bool is_called_;
  std::shared_ptr<CallbackSlot<OnRequest>> slot_ = std::make_shared<CallbackSlot<OnRequest>>();
  std::mutex mutex_;
  bool is_closed_ = false;
  Mailbox<Visit*> visits_{usual_visits};
};

}  // namespace hopmeter
