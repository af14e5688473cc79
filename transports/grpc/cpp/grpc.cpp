/// The adapter for gRPC in C++: unary calls, and streams as topics. ../README.md describes the fields.
#include <grpc/grpc.h>

#include "calls.hpp"
#include "hopmeter/choice.hpp"
#include "hopmeter/transport_of.hpp"
#include "streams.hpp"

using namespace hopmeter;

namespace {

using GrpcTransport = TypedTransportOf<Setup, MessageTypes<Timing, Image>, StreamPublisher, StreamSubscriber,
                                       StreamSubscription, PolledServer, CallClient>;

class Grpc final : public GrpcTransport {
 public:
  /// Keeps the library initialised until the process exits, because shutting it down with the last link end may take 10
  /// s after large messages.
  explicit Grpc(const Setup& setup) : GrpcTransport(setup) { grpc_init(); }

  static std::string version() { return grpc::Version(); }

  Owned<Server> server(const Link& link) override {
    if (link.wait == Wait::callback) return std::make_unique<CalledServer>(shared_, link);
    return GrpcTransport::server(link);
  }
  Facts facts() override {
    if (shared_.setting<std::string>("endpoint") == "unix") return {{"path", "HTTP/2 over a Unix socket"}};
    return {{"path", is_secure(shared_) ? "HTTP/2 over TLS" : "HTTP/2 over TCP"}};
  }
};

}  // namespace

int main(int argc, char** argv) { return run<Grpc>(argc, argv); }
