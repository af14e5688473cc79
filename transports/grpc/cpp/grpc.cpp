/// gRPC in C++: unary calls, and streams as topics. ../README.md says which message takes what of a frame.
#include <grpc/grpc.h>

#include "calls.hpp"
#include "topics.hpp"

using namespace hopmeter;

namespace {

class Grpc final : public Transport {
 public:
  /// The library is held until the process ends: it would shut down with the last end, and after large messages waits
  /// for a poller of its own then, which sleeps for 10 s.
  explicit Grpc(const Setup& setup) : setup_(setup) { grpc_init(); }

  static std::string version() { return grpc::Version(); }

  Owned<Publisher> publisher(const Link& link) override {
    if (is_image()) return std::make_unique<Sending<ImageKind>>(setup_, link);
    return std::make_unique<Sending<TimingKind>>(setup_, link);
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    if (is_image()) return std::make_unique<Receiving<ImageKind>>(setup_, link);
    return std::make_unique<Receiving<TimingKind>>(setup_, link);
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    if (is_image()) return std::make_unique<Reacting<ImageKind>>(setup_, link, std::move(on_frame));
    return std::make_unique<Reacting<TimingKind>>(setup_, link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override {
    if (is_image()) return served<ImageKind>(link);
    return served<TimingKind>(link);
  }
  Owned<Client> client(const Link& link) override {
    if (is_image()) return std::make_unique<Asking<ImageKind>>(setup_, link);
    return std::make_unique<Asking<TimingKind>>(setup_, link);
  }
  Facts facts() override {
    const bool tcp = setup_.setting<std::string>("endpoint") == "tcp";
    return {{"path", tcp ? "HTTP/2 over TCP" : "HTTP/2 over a Unix socket"}};
  }

 private:
  bool is_image() const { return setup_.payload() == PayloadKind::image; }

  template <class Kind>
  Owned<Server> served(const Link& link) {
    if (setup_.wait() == Wait::callback) return std::make_unique<Called<Kind>>(setup_, link);
    return std::make_unique<Polled<Kind>>(setup_, link);
  }

  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Grpc>(argc, argv); }
