/// The adapter for Cap'n Proto RPC in C++: a capability call for each message. ../README.md describes the interfaces.
#include "calls.hpp"
#include "hopmeter/transport_of.hpp"
#include "topics.hpp"

using namespace hopmeter;

namespace {

using CapnProtoTransport =
    TransportOf<Setup, TopicPublisher, TopicSubscriber, TopicSubscription, CallServer, CallClient>;

class CapnProto final : public CapnProtoTransport {
 public:
  using CapnProtoTransport::CapnProtoTransport;

  static std::string version() {
    return "Cap'n Proto " + std::to_string(CAPNP_VERSION_MAJOR) + "." + std::to_string(CAPNP_VERSION_MINOR) + "." +
           std::to_string(CAPNP_VERSION_MICRO);
  }

  Facts facts() override {
    const auto below = is_unix(shared_) ? std::string("Unix sockets") : "TCP on " + shared_.network_device();
    return {{"path", "Cap'n Proto RPC over " + below}};
  }
};

}  // namespace

int main(int argc, char** argv) { return run<CapnProto>(argc, argv); }
