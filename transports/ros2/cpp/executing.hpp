/// Executors: either one for each link end with a callback, or one for all link ends of a process. Each executor runs
/// on its own thread.
#pragma once

#include <pthread.h>

#include <chrono>
#include <future>
#include <map>
#include <thread>

#include "house.hpp"
#include "versions.hpp"

namespace ros2 {

/// Creates the executor that the setting selects. Returns null if this rclcpp has no such executor.
inline std::unique_ptr<rclcpp::Executor> executor_of(const House& house, const std::string& kind) {
  rclcpp::ExecutorOptions options;
  options.context = house.context;
  if (kind == "single") return std::make_unique<rclcpp::executors::SingleThreadedExecutor>(options);
  if (kind == "static") return static_executor(options);
  if (kind == "events") return events_executor(options);
  const auto threads = house.setup.setting<std::size_t>("threads");
  return std::make_unique<rclcpp::executors::MultiThreadedExecutor>(options, threads);
}

inline std::unique_ptr<rclcpp::Executor> executor_of(const House& house) {
  const auto kind = house.setup.setting<std::string>("executor");
  if (auto executor = executor_of(house, kind)) return executor;
  throw hopmeter::Error("rclcpp " RCLCPP_VERSION_STR " has no " + kind + " executor", "choose another executor");
}

/// An executor that spins on its own thread until this object is destroyed.
class Spinning {
 public:
  /// The executor's threads inherit the cores of the thread that constructs it.
  explicit Spinning(House& house) : executor_(executor_of(house)) {
    ++house.seen.executors;
    pthread_getaffinity_np(pthread_self(), sizeof cores_, &cores_);
  }

  ~Spinning() { pause(); }

  /// Adds a callback group. A spinning executor fails if the number of its guard conditions grows before a wait, so
  /// this function pauses the executor first.
  void add(const Room& room) {
    const std::lock_guard lock(mutex_);
    if (ends_[room.group]++ != 0) return;
    pause();
    executor_->add_callback_group(room.group, room.node->get_node_base_interface());
    spin();
  }

  void remove(const Room& room) {
    const std::lock_guard lock(mutex_);
    if (--ends_[room.group] != 0) return;
    executor_->remove_callback_group(room.group);
    ends_.erase(room.group);
  }

 private:
  void spin() {
    ended_ = {};
    thread_ = std::thread([this] {
      pthread_setaffinity_np(pthread_self(), sizeof cores_, &cores_);
      executor_->spin();
      ended_.set_value();
    });
  }

  void pause() {
    if (!thread_.joinable()) return;
    // An executor that does not spin yet ignores a cancel.
    const auto ended = ended_.get_future();
    do executor_->cancel();
    while (ended.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready);
    thread_.join();
  }

  std::unique_ptr<rclcpp::Executor> executor_;
  cpu_set_t cores_;
  std::promise<void> ended_;
  std::thread thread_;
  std::mutex mutex_;
  /// The number of link ends in each callback group.
  std::map<std::shared_ptr<rclcpp::CallbackGroup>, int> ends_;
};

/// Returns the executor of a link end: its own, or the process's shared executor.
inline std::shared_ptr<Spinning> spinning_of(House& house, const Room& room) {
  const bool shares = house.is("executor_of", "process");
  const std::lock_guard lock(house.sharing);
  auto spinning = shares ? house.spinning.lock() : nullptr;
  if (!spinning) spinning = std::make_shared<Spinning>(house);
  if (shares) house.spinning = spinning;
  spinning->add(room);
  return spinning;
}

/// Counts the servers that wait for another server and occupy a thread of a shared executor.
class Nested {
 public:
  explicit Nested(House& house) : house_(house) {
    const std::lock_guard lock(house.sharing);
    counts_ = house.is("executor_of", "process") && house.clients.contains(std::this_thread::get_id());
    if (!counts_) return;
    if (house.nested + 1 >= house.at_once()) throw none_left(house.at_once());
    ++house.nested;
  }

  ~Nested() { house_.nested -= counts_; }

 private:
  static hopmeter::Error none_left(int at_once) {
    const auto runs = std::to_string(at_once);
    return hopmeter::Error(
        "servers that call servers share one executor, which runs at most " + runs +
            " calls at once, so no thread is left for the last call",
        "use executor=multi with more threads than there are relays and callback_group_of=end, or executor_of=end");
  }

  House& house_;
  bool counts_ = false;
};

/// A link end that an executor calls until this object is destroyed.
class Executing final : public hopmeter::Subscription {
 public:
  Executing(House& house, const Room& room, std::shared_ptr<Gate> gate)
      : nested_(house), room_(room), gate_(std::move(gate)), spinning_(spinning_of(house, room)) {
    ++house.seen.ends;
  }

  ~Executing() override {
    spinning_->remove(room_);
    gate_->set(false);
  }

 private:
  Nested nested_;
  Room room_;
  std::shared_ptr<Gate> gate_;
  std::shared_ptr<Spinning> spinning_;
};

}  // namespace ros2
