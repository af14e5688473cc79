/// What the ends of a process share: its one node, and how they wait.
#pragma once

#include <ros/callback_queue.h>
#include <ros/ros.h>

#include <atomic>

#include "hopmeter/hopmeter.hpp"

namespace ros1 {

struct Session {
  hopmeter::Setup setup;
  ros::NodeHandle node;
  /// Which publishers the receivers of this process have had messages of.
  std::atomic<bool> receives_from_here = false, receives_from_elsewhere = false;
};

/// A name of ROS begins with a letter; that of a link may not.
inline std::string name_of(const hopmeter::Link& link) { return "/hopmeter_" + link.name; }

/// The callback queue of one end, for polling: `spin` looks once, `block` sleeps in it.
class PolledQueue {
 public:
  explicit PolledQueue(const Session& session) : spins_(session.setup.wait() == hopmeter::Wait::spin) {}

  ros::CallbackQueue* get() { return &queue_; }

  void call(hopmeter::Timeout timeout) {
    queue_.callAvailable(spins_ ? ros::WallDuration() : ros::WallDuration().fromNSec(timeout.count()));
  }

 private:
  bool spins_;
  ros::CallbackQueue queue_;
};

/// A spinner with one thread for one queue, until this is destroyed.
class SpinnerThread final : public hopmeter::Subscription {
 public:
  explicit SpinnerThread(ros::CallbackQueue* queue) : spinner_(1, queue) { spinner_.start(); }
  ~SpinnerThread() override { spinner_.stop(); }

 private:
  ros::AsyncSpinner spinner_;
};

}  // namespace ros1
