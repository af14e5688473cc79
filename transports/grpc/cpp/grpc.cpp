/// gRPC in C++: unary calls, and streams as topics. ../README.md describes the fields.
#include <grpc/grpc.h>

#include "calls.hpp"
#include "hopmeter/choice.hpp"
#include "streams.hpp"

using namespace hopmeter;

namespace {

template <class Message>
class Grpc final : public Transport {
 public:
  /// Retains the library until the process ends. Otherwise it would shut down with the last link end. After large
  /// messages it would then wait for a poller of its own, which sleeps for 10 s.
  explicit Grpc(const Setup& setup) : setup_(setup) { grpc_init(); }

  static std::string version() { return grpc::Version(); }

  Owned<Publisher> publisher(const Link& link) override {
    return std::make_unique<StreamPublisher<Message>>(setup_, link);
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    return std::make_unique<StreamSubscriber<Message>>(setup_, link);
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<StreamSubscription<Message>>(setup_, link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override {
    if (setup_.wait() == Wait::callback) return std::make_unique<CalledServer>(setup_, link);
    return std::make_unique<PolledServer<Message>>(setup_, link);
  }
  Owned<Client> client(const Link& link) override { return std::make_unique<CallClient<Message>>(setup_, link); }
  Facts facts() override {
    const bool is_tcp = setup_.setting<std::string>("endpoint") == "tcp";
    return {{"path", is_tcp ? "HTTP/2 over TCP" : "HTTP/2 over a Unix socket"}};
  }

 private:
  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<ChoiceByPayload<Grpc, Timing, Image>>(argc, argv); }
