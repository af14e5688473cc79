/// The wire protocol of ROS 2 by Cyclone DDS's C API: messages of ../idl, topics and services as ROS 2 names them. No
/// rcl, no rclcpp, no executor. The rest is in ../../_cyclonedds.
#include "carrier.hpp"
#include "messages.hpp"
#include "services.hpp"

using namespace hopmeter;

namespace {

/// ROS 2 knows no tags.
constexpr cyclone::Customs customs{.is_tagged = false};

/// The adapter for one message.
template <class Message, class Request, class Reply>
class Carrier final : public cyclone::Carrier<Message> {
 public:
  explicit Carrier(const Setup& setup) : cyclone::Carrier<Message>(setup, customs) {}

  Owned<hopmeter::Server> server(const Link& link) override {
    return std::make_unique<wire::Server<Request, Reply>>(this->house_, link);
  }
  Owned<hopmeter::Client> client(const Link& link) override {
    return std::make_unique<wire::Client<Request, Reply>>(this->house_, link);
  }
};

/// Picks the message by what the payload stands for.
class Ros2Wire final : public cyclone::Choice {
 public:
  explicit Ros2Wire(const Setup& setup) : Choice(carrier(setup)) {}

 private:
  static std::unique_ptr<Transport> carrier(const Setup& setup) {
    if (setup.payload() == PayloadKind::timing)
      return std::make_unique<Carrier<wire::Timing, wire::TimingRequest, wire::TimingReply>>(setup);
    return std::make_unique<Carrier<wire::Image, wire::ImageRequest, wire::ImageReply>>(setup);
  }
};

}  // namespace

int main(int argc, char** argv) { return run<Ros2Wire>(argc, argv); }
