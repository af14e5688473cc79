/// The adapter for ROS 1 with roscpp: topics and services. ../README.md describes the fields.
#include <unistd.h>

#include <mutex>
#include <optional>

#include "hopmeter/choice.hpp"
#include "services.hpp"
#include "topics.hpp"

namespace {

using namespace hopmeter;

class Ros1 final : public Transport {
 public:
  explicit Ros1(const Setup& setup) : setup_(setup) {
    constexpr auto options = ros::init_options::NoSigintHandler | ros::init_options::NoRosout;
    ros::init(ros::M_string(), "hopmeter_" + std::to_string(getpid()), options);
  }

  static std::string version() {
    return "roscpp " + version_text(ROS_VERSION_MAJOR, ROS_VERSION_MINOR, ROS_VERSION_PATCH);
  }

  Owned<Publisher> publisher(const Link& link) override { return open<Publisher, ros1::Publisher>(link); }
  Owned<Subscriber> subscriber(const Link& link) override { return open<Subscriber, ros1::PolledSubscriber>(link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return open<Subscription, ros1::CalledSubscriber>(link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return open<Server, ros1::Server>(link); }
  Owned<Client> client(const Link& link) override { return open<Client, ros1::Client>(link); }

  Facts facts() override {
    if (!session_) return {};
    const auto tcp = "TCPROS on " + setup_.network_device();
    if (!session_->receives_from_here) return {{"path", tcp}};
    const bool by_pointer = setup_.setting<std::string>("publish") == "pointer";
    const std::string here = by_pointer ? "a shared pointer within the process" : "serialised within the process";
    return {{"path", session_->receives_from_elsewhere ? here + ", and " + tcp : here}};
  }

 private:
  template <class End, template <class> class Of>
  Owned<End> open(const Link& link, auto&&... more) {
    using Types = MessageTypes<ros1::Timing, ros1::Image, PayloadKind::image>;
    return Types::choose(link, [&]<class Layout>(std::type_identity<Layout>) {
      return Owned<End>(std::make_unique<Of<Layout>>(session(), link, std::forward<decltype(more)>(more)...));
    });
  }

  /// Returns the ROS node. The first link end starts the node, so that the node's threads inherit an endpoint's core.
  ros1::Session& session() {
    std::call_once(started_, [this] {
      if (!ros::master::check())
        throw Error("there is no rosmaster at " + ros::master::getURI(), "install python3-rosmaster");
      session_.emplace(setup_);
    });
    return *session_;
  }

  Setup setup_;
  std::once_flag started_;
  std::optional<ros1::Session> session_;
};

}  // namespace

int main(int argc, char** argv) { return run<Ros1>(argc, argv); }
