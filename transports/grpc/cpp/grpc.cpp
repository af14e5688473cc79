/// gRPC in C++: unary calls, and streams as topics. ../README.md describes the fields.
#include <grpc/grpc.h>

#include "calls.hpp"
#include "hopmeter/choice.hpp"
#include "hopmeter/transport_of.hpp"
#include "streams.hpp"

using namespace hopmeter;

namespace {

template <class Message>
using GrpcTransport = TransportOf<Setup, StreamPublisher<Message>, StreamSubscriber<Message>,
                                  StreamSubscription<Message>, PolledServer<Message>, CallClient<Message>>;

template <class Message>
class Grpc final : public GrpcTransport<Message> {
 public:
  /// Keeps the library initialised until the process ends. Otherwise the library would shut down with the last link
  /// end. After large messages, it would then wait for one of its own pollers, which sleeps for 10 s.
  explicit Grpc(const Setup& setup) : GrpcTransport<Message>(setup) { grpc_init(); }

  static std::string version() { return grpc::Version(); }

  Owned<Server> server(const Link& link) override {
    if (this->shared_.wait() == Wait::callback) return std::make_unique<CalledServer>(this->shared_, link);
    return GrpcTransport<Message>::server(link);
  }
  Facts facts() override {
    const bool is_tcp = this->shared_.template setting<std::string>("endpoint") == "tcp";
    return {{"path", is_tcp ? "HTTP/2 over TCP" : "HTTP/2 over a Unix socket"}};
  }
};

}  // namespace

int main(int argc, char** argv) { return run<ChoiceByPayload<Grpc, Timing, Image>>(argc, argv); }
