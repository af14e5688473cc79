/// The state that all link ends of a process share: the context, the quality of service, and the nodes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <rclcpp/rclcpp.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "hopmeter/hopmeter.hpp"

namespace ros2 {

class Spinning;

/// How messages travelled within this process or from other processes, and on which threads callbacks ran.
struct Seen {
  std::atomic<bool> by_pointer = false, by_rmw = false, uncopied = false, relayed = false;
  std::atomic<bool> lent = false, unlendable = false;
  /// The address of the message in the last unique_ptr passed to rclcpp. The address identifies the message as long as
  /// the message exists.
  std::atomic<const void*> given = nullptr;
  std::atomic<int> executors = 0, ends = 0, callers = 0;

  /// Counts each calling thread once. Every thread that runs a link end's callback must call this function.
  void called_here() {
    thread_local const Seen* told = nullptr;
    if (std::exchange(told, this) != this) ++callers;
  }
};

/// Returns the ROS name of a link, which must begin with a letter; a link's name may begin with another character.
inline std::string name_of(const hopmeter::Link& link) { return "/hopmeter_" + link.name; }

/// Returns the domain of a trial. Peers in Python and peers of the transport ros2-wire compute the same domain.
inline std::size_t domain_of(const std::string& run) {
  // Domain numbers below 99 use only ports below the system's ephemeral ports.
  constexpr std::size_t domains = 99;
  return 1 + std::stoul(run.substr(0, 8), nullptr, 16) % domains;
}

inline rclcpp::QoS qos_of(const hopmeter::Setup& setup) {
  if (setup.setting<std::string>("qos") == "sensor-data") return rclcpp::SensorDataQoS();
  const bool keeps_all = setup.setting<std::string>("history") == "keep-all";
  rclcpp::QoS qos = keeps_all ? rclcpp::QoS(rclcpp::KeepAll()) : rclcpp::QoS(setup.setting<std::size_t>("depth"));
  if (setup.setting<std::string>("reliability") == "best-effort") qos.best_effort();
  if (setup.setting<std::string>("durability") == "transient-local") qos.transient_local();
  return qos;
}

class House {
 public:
  explicit House(const hopmeter::Setup& given) : setup(given), qos(qos_of(given)) {
    rclcpp::InitOptions options;
    options.set_domain_id(domain_of(setup.run()));
    options.auto_initialize_logging(false);  // logging would write files to the user's home directory
    context->init(0, nullptr, options);
  }

  ~House() {
    shared_.reset();
    context->shutdown("all is done");
  }

  /// Whether a setting has this value.
  bool is(const char* name, const char* value) const { return setup.setting<std::string>(name) == value; }

  /// Returns the node of a link end.
  std::shared_ptr<rclcpp::Node> node() {
    const std::lock_guard lock(mutex_);
    if (is("nodes", "end")) return opened();
    if (!shared_) shared_ = opened();
    return shared_;
  }

  /// Returns the callback group of a link end, without an executor: its own group, or the group that all link ends with
  /// callbacks share.
  std::shared_ptr<rclcpp::CallbackGroup> group(rclcpp::Node& node, bool is_called) {
    using rclcpp::CallbackGroupType::MutuallyExclusive, rclcpp::CallbackGroupType::Reentrant;
    if (!is_called) return node.create_callback_group(MutuallyExclusive, false);
    if (is("callback_group", "reentrant")) return node.create_callback_group(Reentrant, false);
    if (is("callback_group_of", "end")) return node.create_callback_group(MutuallyExclusive, false);
    const std::lock_guard lock(mutex_);
    auto group = group_.lock();
    if (!group) group_ = group = node.create_callback_group(MutuallyExclusive, false);
    return group;
  }

  /// Returns how many callbacks an executor of this process runs concurrently.
  int at_once() const {
    const bool sequential = is("callback_group", "exclusive") && is("callback_group_of", "process");
    return is("executor", "multi") && !sequential ? setup.setting<int>("threads") : 1;
  }

  const hopmeter::Setup setup;
  const rclcpp::QoS qos;
  const std::shared_ptr<rclcpp::Context> context = std::make_shared<rclcpp::Context>();
  Seen seen;

  /// Held during the creation and destruction of a node's entities, because a node counts their types without a lock.
  std::mutex making;
  /// Protects `spinning` and `clients`.
  std::mutex sharing;
  /// The shared executor, which exists while at least one link end uses it.
  std::weak_ptr<Spinning> spinning;
  /// The endpoints (as threads) that have clients, with one entry per client.
  std::multiset<std::thread::id> clients;
  /// The number of servers in the shared executor that are waiting for another server in the same executor.
  std::atomic<int> nested = 0;

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
  std::weak_ptr<rclcpp::CallbackGroup> group_;
};

/// A node and one of its callback groups. The groups of polled link ends have no executor.
struct Room {
  Room(House& house, bool is_called) : node(house.node()), group(house.group(*node, is_called)) {}

  std::shared_ptr<rclcpp::Node> node;
  std::shared_ptr<rclcpp::CallbackGroup> group;
};

inline auto handle_of(rclcpp::PublisherBase& publisher) { return publisher.get_publisher_handle(); }
inline auto handle_of(rclcpp::SubscriptionBase& subscription) { return subscription.get_subscription_handle(); }
inline auto handle_of(rclcpp::ServiceBase& service) { return service.get_service_handle(); }
inline auto handle_of(rclcpp::ClientBase& client) { return client.get_client_handle(); }

/// A publisher, subscription, service or client. The entity is created and destroyed under a lock of this process.
template <class Entity>
class Made {
 public:
  Made(House& house, const auto& make) : making_(house.making) {
    const std::lock_guard lock(making_);
    entity_ = make();
    handle_ = handle_of(*entity_);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  /// Waits until this is the last reference, because an executor that briefly keeps another reference would destroy the
  /// entity without the lock.
  ~Made() {
    entity_.reset();
    for (int tries = 0; handle_.use_count() > 1 && tries < 1000; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(making_);
    handle_.reset();
  }

  Entity* operator->() const { return entity_.get(); }
  const std::shared_ptr<Entity>& shared() const { return entity_; }

 private:
  std::mutex& making_;
  std::shared_ptr<Entity> entity_;
  decltype(handle_of(std::declval<Entity&>())) handle_;
};

/// Lets one call at a time through to a link end. Once the gate is shut, no call runs or starts.
class Gate {
 public:
  explicit Gate(bool is_open) : is_open_(is_open) {}

  void set(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
  }

  void pass(const auto& call) {
    const std::lock_guard lock(mutex_);
    if (is_open_) call();
  }

 private:
  std::mutex mutex_;
  bool is_open_;
};

}  // namespace ros2
