/// The adapter for Arrow Flight in C++: topics are DoGet streams, and calls are DoExchange. ../README.md describes the
/// record batches.
#include <arrow/config.h>

#include "calls.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/transport_of.hpp"
#include "topics.hpp"

using namespace hopmeter;

namespace {

class Flight final
    : public TransportOf<Setup, TopicPublisher, TopicSubscriber, TopicSubscription, CallServer, CallClient> {
 public:
  using TransportOf::TransportOf;

  static std::string version() { return "Arrow C++ " + arrow::GetBuildInfo().version_string; }

  Owned<Subscriber> subscriber(const Link& link) override {
    has_queue_ = true;
    return TransportOf::subscriber(link);
  }

  Owned<Server> server(const Link& link) override {
    if (link.wait == Wait::block) has_queue_ = true;
    return TransportOf::server(link);
  }

  Facts facts() override {
    const auto codec = shared_.setting<std::string>("compression");
    const std::string batches = codec == "none" ? "record batches" : "record batches compressed with " + codec;
    const std::string below = is_unix(shared_) ? "a Unix socket" : connection_kind(shared_);
    const std::string queue = has_queue_ ? ", and a queue from the library's thread" : "";
    return {{"path", batches + " over HTTP/2 over " + below + queue}};
  }

 private:
  std::atomic<bool> has_queue_ = false;
};

}  // namespace

int main(int argc, char** argv) { return run<Flight>(argc, argv); }
