/// Topics and services by Cyclone DDS's C API. The rest is in ../../../_cyclonedds.
#include "../../../_cyclonedds/cpp/carrier.hpp"

#include "messages.hpp"
#include "services.hpp"

using namespace hopmeter;

namespace wire::by_cyclonedds {
namespace {

/// ROS 2 knows no tags.
constexpr cyclone::Customs customs{.is_tagged = false};

/// The adapter for one message.
template <class Message, class Request, class Reply>
class Carrier final : public cyclone::Carrier<Message> {
 public:
  explicit Carrier(const Setup& setup) : cyclone::Carrier<Message>(setup, customs) {}

  Owned<hopmeter::Server> server(const Link& link) override {
    return std::make_unique<Server<Request, Reply>>(this->house_, link);
  }
  Owned<hopmeter::Client> client(const Link& link) override {
    return std::make_unique<Client<Request, Reply>>(this->house_, link);
  }
};

}  // namespace

std::string version() { return cyclone::version(); }

std::unique_ptr<Transport> carrier(const Setup& setup) {
  if (setup.payload() == PayloadKind::timing)
    return std::make_unique<Carrier<Timing, TimingRequest, TimingReply>>(setup);
  return std::make_unique<Carrier<Image, ImageRequest, ImageReply>>(setup);
}

}  // namespace wire::by_cyclonedds
