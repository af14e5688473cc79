/// The adapter for ROS 2 with rclcpp: topics and services. ../README.md describes the fields.
#include <stdlib.h>

#include <mutex>
#include <optional>
#include <set>

#include "hopmeter/choice.hpp"
#include "rmw.hpp"
#include "services.hpp"
#include "topics.hpp"
#include "type_ends.hpp"

namespace {

using namespace hopmeter;

class Ros2 final : public Transport {
 public:
  explicit Ros2(const Setup& setup) : setup_(setup) {
    // Setting variables is safe here, because no other thread reads the environment yet.
    ros2::limit_discovery(setup.advertised().starts_with("127."));
    // Without this variable, subscriptions copy loaned messages. A value set by the user takes precedence.
    if (setup.setting<std::string>("publish") == "loaned") setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 0);
  }

  static std::string version() {
    const char* distribution = std::getenv("ROS_DISTRO");
    return "rclcpp " RCLCPP_VERSION_STR " (" + (distribution ? distribution + std::string(", ") : "") +
           ros2::rmw_version() + ")";
  }

  Owned<Publisher> publisher(const Link& link) override {
    if (has_type(link)) return ros2::type_ends(link).publisher(house(), link);
    return topic<Publisher, ros2::Publisher>(link);
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    if (has_type(link)) return ros2::type_ends(link).subscriber(house(), link);
    return topic<Subscriber, ros2::Polled>(link);
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    if (has_type(link)) return ros2::type_ends(link).subscribe(house(), link, std::move(on_frame));
    return topic<Subscription, ros2::Called>(link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override {
    if (has_type(link)) return ros2::type_ends(link).server(house(), link);
    return open<Server, ros2::Server>(link);
  }
  Owned<Client> client(const Link& link) override {
    if (has_type(link)) return ros2::type_ends(link).client(house(), link);
    return open<Client, ros2::Client>(link);
  }

  Facts facts() override {
    if (!house_) return {};
    const auto rmw = ros2::rmw_version();
    const auto& seen = house_->seen;
    const auto path = way(seen, rmw);
    Facts facts = {{"path", path}, {"rmw", rmw}, {"domain", std::to_string(ros2::domain_of(setup_.run()))}};
    if (const char* distribution = std::getenv("ROS_DISTRO")) facts.emplace_back("distribution", distribution);
    std::string messages;
    for (const auto& each : messages_) messages += (messages.empty() ? "" : ", ") + each;
    if (!messages.empty()) facts.emplace_back("message", messages);
    if (seen.executors) facts.emplace_back("executors", executors(seen));
    if (seen.unlendable)
      facts.emplace_back("fallback", rmw + " does not loan messages of this type, so rclcpp allocated them");
    return facts;
  }

 private:
  static std::string way(const ros2::Seen& seen, const std::string& rmw) {
    std::string way = seen.by_pointer ? "rclcpp's pointer within the process" : rmw;
    if (seen.uncopied) way += seen.relayed ? ", uncopied but by relays" : ", uncopied";
    if (seen.by_pointer && seen.by_rmw) way += ", and " + rmw;
    if (seen.lent) way += ", in messages that it lent";
    return way;
  }

  static std::string executors(const ros2::Seen& seen) {
    const auto counted = [](int many, const std::string& what) {
      return std::to_string(many) + " " + what + (many == 1 ? "" : "s");
    };
    return counted(seen.ends, "end") + " called by " + counted(seen.callers, "thread") + " of " +
           counted(seen.executors, "executor");
  }

  /// Returns the shared state. The first link end opens the context, so that the context's threads inherit an
  /// endpoint's core.
  ros2::House& house() {
    std::call_once(started_, [this] { house_.emplace(setup_); });
    return *house_;
  }

  /// Whether the link's messages have a type of the user's own; if so, records the type for the facts.
  bool has_type(const Link& link) {
    if (link.message_type.empty()) return false;
    if (setup_.setting<std::string>("message") == "plain")
      throw Error("plain messages carry bytes, but this link carries " + link.message_type,
                  "omit message=plain, or choose another payload");
    const std::lock_guard lock(naming_);
    messages_.insert(link.message_type + (link.message_object.empty() ? " as octets" : ""));
    return true;
  }

  template <class End, template <class> class Of>
  std::unique_ptr<End> open(const Link& link, auto&&... more) {
    using Types = MessageTypes<ros2::Timing, ros2::Image, PayloadKind::image>;
    return Types::choose(link, [&]<class Carrier>(std::type_identity<Carrier>) {
      using Frames = ros2::Frames<Carrier>;
      return std::unique_ptr<End>(std::make_unique<Of<Frames>>(house(), link, std::forward<decltype(more)>(more)...));
    });
  }

  /// Opens a publisher or subscription of a topic. The topic's messages may be plain.
  template <class End, template <class> class Of>
  std::unique_ptr<End> topic(const Link& link, auto&&... more) {
    if (setup_.setting<std::string>("message") == "standard")
      return open<End, Of>(link, std::forward<decltype(more)>(more)...);
    return ros2::of_plain(link.frame_bytes - header_bytes, [&]<class Carrier>(Carrier) -> std::unique_ptr<End> {
      return std::make_unique<Of<ros2::Frames<Carrier>>>(house(), link, std::forward<decltype(more)>(more)...);
    });
  }

  Setup setup_;
  std::mutex naming_;
  std::set<std::string> messages_;
  std::once_flag started_;
  std::optional<ros2::House> house_;
};

}  // namespace

int main(int argc, char** argv) { return run<Ros2>(argc, argv); }
