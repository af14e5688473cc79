/// All differences between the supported versions of rclcpp, from version 16 (Humble) onwards.
#pragma once

#include <rclcpp/version.h>

#include <cstdlib>
#include <memory>
#include <rclcpp/rclcpp.hpp>

#if __has_include(<rclcpp/executors/static_single_threaded_executor.hpp>)
#include <rclcpp/executors/static_single_threaded_executor.hpp>
#define HOPMETER_ROS2_HAS_STATIC
#endif
#if __has_include(<rclcpp/experimental/executors/events_executor/events_executor.hpp>)
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#define HOPMETER_ROS2_HAS_EVENTS
#endif
#if __has_include(<rmw/discovery_options.h>)
#define HOPMETER_ROS2_HAS_DISCOVERY_RANGE
#endif

namespace ros2 {

/// Returns null if this rclcpp has no static executor, which is deprecated but still used.
inline std::unique_ptr<rclcpp::Executor> static_executor([[maybe_unused]] const rclcpp::ExecutorOptions& options) {
#ifdef HOPMETER_ROS2_HAS_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return std::make_unique<rclcpp::executors::StaticSingleThreadedExecutor>(options);
#pragma GCC diagnostic pop
#else
  return nullptr;
#endif
}

/// Returns null if this rclcpp has no events executor, which exists from version 21 (Iron) onwards.
inline std::unique_ptr<rclcpp::Executor> events_executor([[maybe_unused]] const rclcpp::ExecutorOptions& options) {
#ifdef HOPMETER_ROS2_HAS_EVENTS
  using namespace rclcpp::experimental::executors;
  return std::make_unique<EventsExecutor>(std::make_unique<SimpleEventsQueue>(), false, options);
#else
  return nullptr;
#endif
}

/// Restricts discovery to this machine or its networks. Humble uses a different environment variable. Must be called
/// before other threads read the environment. With LOCALHOST, rmw_fastrtps replaces the transports in the user's
/// profiles with its own transports.
inline void limit_discovery(bool is_local) {
  is_local = is_local && !getenv("FASTDDS_DEFAULT_PROFILES_FILE") && !getenv("FASTRTPS_DEFAULT_PROFILES_FILE");
#ifdef HOPMETER_ROS2_HAS_DISCOVERY_RANGE
  setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", is_local ? "LOCALHOST" : "SUBNET", 1);
#else
  setenv("ROS_LOCALHOST_ONLY", is_local ? "1" : "0", 1);
#endif
}

/// Returns the quality of service for services, in the type that this rclcpp requires.
inline auto services_qos() {
#if RCLCPP_VERSION_GTE(17, 0, 0)
  return rclcpp::ServicesQoS();
#else
  return rclcpp::ServicesQoS().get_rmw_qos_profile();
#endif
}

/// Calls the callbacks of a waitable until the waitable has no more data.
void run_while_ready(auto& waitable) {
  auto nothing = rcl_get_zero_initialized_wait_set();
  if constexpr (requires { waitable.is_ready(nothing); }) {
    while (waitable.is_ready(nothing)) waitable.execute(waitable.take_data());
  } else {  // Humble
    while (waitable.is_ready(&nothing)) {
      auto data = waitable.take_data();
      waitable.execute(data);
    }
  }
}

}  // namespace ros2
