/// What the ends of a process share: its one node, and how they wait.
#pragma once

#include <ros/callback_queue.h>
#include <ros/ros.h>

#include <atomic>

#include "hopmeter/hopmeter.hpp"

namespace ros1 {

/// What the receivers have seen of their publishers.
struct Seen {
  std::atomic<bool> here = false, elsewhere = false;
};

struct House {
  hopmeter::Setup setup;
  ros::NodeHandle node;
  Seen seen{};
};

/// The callback queue of an end's own, for whoever polls: `spin` looks once, `block` sleeps in it.
class Arrivals {
 public:
  explicit Arrivals(const House& house) : spins_(house.setup.wait() == hopmeter::Wait::spin) {}

  ros::CallbackQueue* queue() { return &queue_; }

  void call(hopmeter::Timeout timeout) {
    queue_.callAvailable(spins_ ? ros::WallDuration() : ros::WallDuration().fromNSec(timeout.count()));
  }

 private:
  bool spins_;
  ros::CallbackQueue queue_;
};

/// A spinner with one thread for one queue, until this is destroyed.
class Spinning final : public hopmeter::Subscription {
 public:
  explicit Spinning(ros::CallbackQueue* queue) : spinner_(1, queue) { spinner_.start(); }
  ~Spinning() override { spinner_.stop(); }

 private:
  ros::AsyncSpinner spinner_;
};

}  // namespace ros1
