/// nng by its C library: PUB and SUB or PUSH and PULL, REQ and REP. ../README.md says what is on the wire.
#include "calls.hpp"
#include "topics.hpp"

using namespace hopmeter;

namespace {

class Nng final : public Transport {
 public:
  explicit Nng(const Setup& setup) : setup_(setup) {}

  static std::string version() { return std::string("libnng ") + nng_version(); }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Sending>(setup_, link); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Polled>(setup_, link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<Called>(setup_, link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return std::make_unique<Answering>(setup_, link); }
  Owned<Client> client(const Link& link) override { return std::make_unique<Asking>(setup_, link); }

  Facts facts() override {
    const auto endpoint = setup_.setting<std::string>("endpoint");
    if (endpoint == "ipc") return {{"path", "Unix sockets"}};
    return {{"path", endpoint == "tcp" ? "tcp on the loopback device" : "memory of this process"}};
  }

 private:
  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Nng>(argc, argv); }
