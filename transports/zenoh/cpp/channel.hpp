/// How receivers get zenoh's messages: from a channel of zenoh, or by a callback on a thread of zenoh.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <semaphore>
#include <thread>
#include <utility>
#include <variant>

#include "hopmeter/completion.hpp"
#include "hopmeter/loop_thread.hpp"
#include "sessions.hpp"

namespace peers {

template <class Message>
using Handler = zenoh::channels::FifoHandler<Message>;

/// Receives from a channel. In C++, zenoh's `recv` has no timeout, so a thread checks the receiver every 50 ms. If the
/// receiver has slept since the last check, the thread calls `wake`, which sends the receiver an empty message within
/// its session.
template <class Message>
class Channel {
 public:
  Channel(const Handler<Message>& handler, std::function<void()> wake)
      : handler_(handler), wake_(std::move(wake)), waker_([this] { step(); }, [this] { end(); }) {}

  /// Passes on all messages that have arrived. If no message has arrived, waits for a message or a call of `wake`.
  std::size_t receive(const auto& hand_over) {
    std::size_t frames = 0;
    auto next = handler_.try_recv();
    if (!std::holds_alternative<Message>(next)) {
      sleeps_.fetch_add(1);
      next = handler_.recv();
      sleeps_.fetch_add(1);
    }
    for (; auto* message = std::get_if<Message>(&next); next = handler_.try_recv()) frames += hand_over(*message);
    return frames;
  }

 private:
  static constexpr std::chrono::milliseconds wake_after{50};

  void step() {
    if (closes_.try_acquire_for(wake_after)) return;
    const auto sleeps = sleeps_.load();
    const bool is_asleep = sleeps % 2 == 1 && sleeps == before_;
    before_ = sleeps;
    if (!is_asleep) return;
    is_waking_ = true;
    wake_();
    is_waking_ = false;
  }

  /// Ends the thread's sleep. Takes messages from the channel, because `wake` waits while the channel is full.
  void end() {
    closes_.release();
    while (is_waking_) {
      handler_.try_recv();
      std::this_thread::yield();
    }
  }

  const Handler<Message>& handler_;
  std::function<void()> wake_;
  /// Odd while the receiver sleeps; each sleep adds 2.
  std::atomic<std::uint64_t> sleeps_ = 0;
  std::uint64_t before_ = 0;
  std::atomic<bool> is_waking_ = false;
  std::binary_semaphore closes_{0};
  hopmeter::LoopThread waker_;
};

/// A subscriber or queryable that zenoh's own thread calls. The destructor waits for the last call.
template <class Declared>
class Called final : public hopmeter::Subscription {
 public:
  /// `declare` gets the session, and the function that zenoh must call after the last call.
  Called(SessionPointer session, const auto& declare)
      : session_(std::move(session)), declared_(declare(*session_, [this] { last_.set(); })) {}

  ~Called() override {
    zenoh::ZResult ignored;  // an error means that the session is already closed, and makes no more calls either
    std::move(declared_).undeclare(&ignored);
    last_.wait();
  }

 private:
  SessionPointer session_;
  hopmeter::Completion last_;
  Declared declared_;
};

}  // namespace peers
