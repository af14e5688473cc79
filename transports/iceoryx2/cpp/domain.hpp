/// The trial's own iceoryx2 domain. The domain never affects other users of iceoryx2, because its files are in the
/// trial's folder and its shared-memory names contain the run id.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iox2/iceoryx2.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "hopmeter/hopmeter.hpp"

namespace iceoryx2 {

constexpr auto ipc = iox2::ServiceType::Ipc;
using Bytes = iox2::bb::Slice<std::uint8_t>;
using FrameService = iox2::PortFactoryPublishSubscribe<ipc, Bytes, void>;
using WakeService = iox2::PortFactoryEvent<ipc>;

/// Returns the value of a call. If the call failed, throws an error with `doing` and the library's reason.
template <class Result>
auto demand(Result&& result, const std::string& doing, const std::string& remedy = {}) {
  if (result.has_value()) return std::forward<Result>(result).value();
  throw hopmeter::Error(doing + ": " + iox2::bb::into<const char*>(result.error()), remedy);
}

class Domain {
 public:
  explicit Domain(const hopmeter::Setup& setup)
      : prefix_(setup.run() + "_"),
        buffer_(setup.setting<std::uint64_t>("buffer")),
        borrowed_(setup.setting<std::uint64_t>("borrowed")),
        overwrites_(setup.setting<std::string>("full") == "drop_oldest") {
    // Functions return failures as errors, so the library's log would only repeat these errors.
    iox2::set_log_level(iox2::LogLevel::Fatal);
    iox2::Config config;
    config.global().set_root_path(name_of<iox2::bb::Path>(setup.directory()));
    config.global().set_prefix(name_of<iox2::bb::FileName>(prefix_));
    auto builder = iox2::NodeBuilder().config(config).signal_handling_mode(iox2::SignalHandlingMode::Disabled);
    node_.emplace(demand(std::move(builder).create<ipc>(), "creating an iceoryx2 node"));
  }

  /// Removes the segment in which iceoryx2 counts nodes, because iceoryx2 would keep the segment for a later node.
  ~Domain() {
    node_.reset();
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator("/dev/shm", ignored)) {
      const auto name = each.path().filename().string();
      if (name.starts_with(prefix_) && name.ends_with(".global_mgmt")) std::filesystem::remove(each, ignored);
    }
  }

  /// Opens or creates the publish-subscribe service of a link. All link ends request the same limits, at least the
  /// library's defaults.
  FrameService frames(const hopmeter::Link& link) {
    const std::lock_guard lock(mutex_);
    return demand(builder(link)
                      .publish_subscribe<Bytes>()
                      .max_subscribers(std::max<std::uint64_t>(link.receivers, 8))
                      .max_nodes(std::max<std::uint64_t>(link.receivers + 1, 20))
                      .subscriber_max_buffer_size(buffer_)
                      .subscriber_max_borrowed_samples(borrowed_)
                      .enable_safe_overflow(overwrites_)
                      .open_or_create(),
                  "opening the publish-subscribe service of " + link.name, remedy);
  }

  /// Opens the event service that wakes a link's blocking receivers.
  std::optional<WakeService> wake(const hopmeter::Link& link) {
    if (link.wait != hopmeter::Wait::block) return {};
    const std::lock_guard lock(mutex_);
    return demand(builder(link)
                      .event()
                      .max_listeners(std::max<std::uint64_t>(link.receivers, 16))
                      .max_nodes(std::max<std::uint64_t>(link.receivers + 1, 36))
                      .open_or_create(),
                  "opening the event service of " + link.name, remedy);
  }

 private:
  static constexpr const char* remedy =
      "both ends need the same settings and the same version of iceoryx2, and room in /dev/shm";

  /// Converts a text to one of the library's name types.
  template <class Name>
  static Name name_of(const std::string& text) {
    auto name = Name::create(text.c_str());
    if (!name.has_value()) throw hopmeter::Error("iceoryx2 cannot use " + text + " as a name");
    return std::move(name).value();
  }

  iox2::ServiceBuilder<ipc> builder(const hopmeter::Link& link) const {
    return node_->service_builder(demand(iox2::ServiceName::create(link.name.c_str()), "naming a service"));
  }

  std::string prefix_;
  std::uint64_t buffer_, borrowed_;
  bool overwrites_;
  /// Only one thread at a time may use an iceoryx2 node.
  std::mutex mutex_;
  /// Empty only while the domain is being destroyed.
  std::optional<iox2::Node<ipc>> node_;
};

}  // namespace iceoryx2
