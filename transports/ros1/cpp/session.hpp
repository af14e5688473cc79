/// The state that all link ends of a process share: one ROS node.
#pragma once

#include <ros/callback_queue.h>
#include <ros/ros.h>

#include <atomic>

#include "hopmeter/hopmeter.hpp"

namespace ros1 {

struct Session {
  hopmeter::Setup setup;
  ros::NodeHandle node;
  /// Whether this process has received messages from its own publishers, and from other processes' publishers.
  std::atomic<bool> receives_from_here = false, receives_from_elsewhere = false;
};

/// Returns the ROS name of a link, which must begin with a letter; a link's name may begin with another character.
inline std::string name_of(const hopmeter::Link& link) { return "/hopmeter_" + link.name; }

/// The callback queue of one polled link end. With `spin`, a poll checks the queue once without sleeping; with `block`,
/// a poll sleeps in the queue.
class PolledQueue {
 public:
  explicit PolledQueue(const hopmeter::Link& link) : spins_(link.wait == hopmeter::Wait::spin) {}

  ros::CallbackQueue* get() { return &queue_; }

  void call(hopmeter::Timeout timeout) {
    queue_.callAvailable(spins_ ? ros::WallDuration() : ros::WallDuration().fromNSec(timeout.count()));
  }

 private:
  bool spins_;
  ros::CallbackQueue queue_;
};

/// A single-threaded spinner for one queue, which runs until this object is destroyed.
class SpinnerThread final : public hopmeter::Subscription {
 public:
  explicit SpinnerThread(ros::CallbackQueue* queue) : spinner_(1, queue) { spinner_.start(); }
  ~SpinnerThread() override { spinner_.stop(); }

 private:
  ros::AsyncSpinner spinner_;
};

}  // namespace ros1
