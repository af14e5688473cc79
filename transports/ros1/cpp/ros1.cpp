/// ROS 1 by roscpp: topics and services. ../README.md says which message takes what of a frame.
#include <unistd.h>

#include <mutex>
#include <optional>

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
    return "roscpp " + std::to_string(ROS_VERSION_MAJOR) + "." + std::to_string(ROS_VERSION_MINOR) + "." +
           std::to_string(ROS_VERSION_PATCH);
  }

  Owned<Publisher> publisher(const Link& link) override { return open<Publisher, ros1::Publisher>(link); }
  Owned<Subscriber> subscriber(const Link& link) override { return open<Subscriber, ros1::Polled>(link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return open<Subscription, ros1::Called>(link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return open<Server, ros1::Server>(link); }
  Owned<Client> client(const Link& link) override { return open<Client, ros1::Client>(link); }

  Facts facts() override {
    if (!house_) return {};
    const bool points = setup_.setting<std::string>("publish") == "pointer";
    const std::string here = points ? "a shared pointer within the process" : "serialised within the process";
    const auto& seen = house_->seen;
    if (seen.here) return {{"path", seen.elsewhere ? here + ", and TCPROS on the loopback device" : here}};
    return {{"path", "TCPROS on the loopback device"}};
  }

 private:
  /// The node is started by the first end, so that its threads get the core of a participant.
  template <class End, template <class> class Of>
  std::unique_ptr<End> open(const Link& link, auto&&... more) {
    std::call_once(started_, [this] { start(); });
    if (setup_.payload() == PayloadKind::timing)
      return std::make_unique<Of<ros1::Timing>>(*house_, link, std::forward<decltype(more)>(more)...);
    return std::make_unique<Of<ros1::Image>>(*house_, link, std::forward<decltype(more)>(more)...);
  }

  void start() {
    if (!ros::master::check())
      throw Error("there is no rosmaster at " + ros::master::getURI(), "install python3-rosmaster");
    house_.emplace(setup_);
  }

  Setup setup_;
  std::once_flag started_;
  std::optional<ros1::House> house_;
};

}  // namespace

int main(int argc, char** argv) { return run<Ros1>(argc, argv); }
