/// Executors: one for each end that is called, on a thread of its own.
#pragma once

#include <chrono>
#include <future>
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#include <thread>

#include "house.hpp"

#if __has_include(<rclcpp/executors/static_single_threaded_executor.hpp>)
#include <rclcpp/executors/static_single_threaded_executor.hpp>
#define HOPMETER_ROS2_HAS_STATIC
#endif

namespace ros2 {

/// The static one is deprecated, and still what some users have.
inline std::unique_ptr<rclcpp::Executor> static_executor(const rclcpp::ExecutorOptions& options) {
#ifdef HOPMETER_ROS2_HAS_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return std::make_unique<rclcpp::executors::StaticSingleThreadedExecutor>(options);
#pragma GCC diagnostic pop
#else
  (void)options;
  throw hopmeter::Error("this ROS 2 has no static executor any more", "ask for another executor");
#endif
}

inline std::unique_ptr<rclcpp::Executor> executor_of(const House& house) {
  rclcpp::ExecutorOptions options;
  options.context = house.context;
  const auto kind = house.setup.setting<std::string>("executor");
  if (kind == "single") return std::make_unique<rclcpp::executors::SingleThreadedExecutor>(options);
  if (kind == "static") return static_executor(options);
  if (kind == "events") {
    using namespace rclcpp::experimental::executors;
    return std::make_unique<EventsExecutor>(std::make_unique<SimpleEventsQueue>(), false, options);
  }
  const auto threads = house.setup.setting<std::size_t>("threads");
  return std::make_unique<rclcpp::executors::MultiThreadedExecutor>(options, threads);
}

/// An executor that spins for one room, until this is destroyed.
class Executing final : public hopmeter::Subscription {
 public:
  Executing(const House& house, const Room& room) : executor_(executor_of(house)), room_(room) {
    executor_->add_callback_group(room.group, room.node->get_node_base_interface());
    thread_ = std::thread([this] {
      executor_->spin();
      ended_.set_value();
    });
  }

  ~Executing() override {
    // A cancel before the spin has begun is forgotten.
    const auto ended = ended_.get_future();
    do executor_->cancel();
    while (ended.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready);
    thread_.join();
    executor_->remove_callback_group(room_.group);
  }

 private:
  std::unique_ptr<rclcpp::Executor> executor_;
  Room room_;
  std::promise<void> ended_;
  std::thread thread_;
};

}  // namespace ros2
