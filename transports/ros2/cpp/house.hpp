/// What the ends of a process share: the context, how topics are served, and nodes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <rclcpp/rclcpp.hpp>
#include <string>

#include "hopmeter/hopmeter.hpp"

namespace ros2 {

/// What the ends have seen of how their messages went.
struct Seen {
  std::atomic<bool> by_pointer = false, by_rmw = false, unlendable = false;
};

/// Names of ROS begin with a letter, those of links may not.
inline std::string name_of(const hopmeter::Link& link) { return "/hopmeter_" + link.name; }

/// The domain of a trial. Peers in Python, and those of the transport ros2-wire, reckon the same.
inline std::size_t domain_of(const std::string& run) {
  // The ports of lower domains stay below those that the system gives to whoever asks.
  constexpr std::size_t domains = 99;
  return 1 + std::stoul(run.substr(0, 8), nullptr, 16) % domains;
}

inline rclcpp::QoS qos_of(const hopmeter::Setup& setup) {
  if (setup.setting<std::string>("qos") == "sensor-data") return rclcpp::SensorDataQoS();
  rclcpp::QoS qos(setup.setting<std::size_t>("depth"));
  if (setup.setting<std::string>("reliability") == "best-effort") qos.best_effort();
  if (setup.setting<std::string>("durability") == "transient-local") qos.transient_local();
  return qos;
}

class House {
 public:
  explicit House(const hopmeter::Setup& given) : setup(given), qos(qos_of(given)) {
    rclcpp::InitOptions options;
    options.set_domain_id(domain_of(setup.run()));
    options.auto_initialize_logging(false);  // it would write files into the user's home
    context->init(0, nullptr, options);
  }

  ~House() {
    shared_.reset();
    context->shutdown("all is done");
  }

  /// The node of an end.
  std::shared_ptr<rclcpp::Node> node() {
    const std::lock_guard lock(mutex_);
    if (setup.setting<std::string>("nodes") == "end") return opened();
    if (!shared_) shared_ = opened();
    return shared_;
  }

  const hopmeter::Setup setup;
  const rclcpp::QoS qos;
  const std::shared_ptr<rclcpp::Context> context = std::make_shared<rclcpp::Context>();
  Seen seen;

 private:
  std::shared_ptr<rclcpp::Node> opened() {
    const bool speaks = !setup.setting<bool>("bare");
    rclcpp::NodeOptions options;
    options.context(context).use_global_arguments(false).enable_rosout(speaks);
    options.start_parameter_services(speaks).start_parameter_event_publisher(speaks);
    options.use_intra_process_comms(setup.setting<bool>("intra_process"));
    const auto name = "hopmeter_" + std::to_string(getpid()) + "_" + std::to_string(opened_++);
    return std::make_shared<rclcpp::Node>(name, options);
  }

  std::mutex mutex_;
  int opened_ = 0;
  std::shared_ptr<rclcpp::Node> shared_;
};

/// A node and a callback group in it that nobody else's executor calls, and never twice at once.
struct Room {
  explicit Room(House& house)
      : node(house.node()), group(node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false)) {}

  std::shared_ptr<rclcpp::Node> node;
  std::shared_ptr<rclcpp::CallbackGroup> group;
};

}  // namespace ros2
