/// The adapter for YARP's ports: one-row images, streamed or requested. ../README.md has details.
#include <yarp/conf/version.h>

#include "client.hpp"
#include "server.hpp"
#include "topics.hpp"

using namespace hopmeter;

namespace {

class Yarp final : public Transport {
 public:
  explicit Yarp(const Setup& setup)
      : house_(setup),
        is_buffered_(setup.setting<std::string>("write") == "buffered"),
        is_direct_(setup.setting<std::string>("callback") == "direct") {}

  static std::string version() { return "YARP " YARP_VERSION; }

  Owned<Publisher> publisher(const Link& link) override {
    if (is_buffered_) return std::make_unique<yarps::Buffered>(house_, link);
    return std::make_unique<yarps::Writing>(house_, link);
  }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<yarps::Polled>(house_, link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    if (is_direct_) return std::make_unique<yarps::CalledDirectly>(house_, link, std::move(on_frame));
    return std::make_unique<yarps::CalledBuffered>(house_, link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return std::make_unique<yarps::Server>(house_, link); }
  Owned<Client> client(const Link& link) override { return std::make_unique<yarps::Client>(house_, link); }
  Facts facts() override { return house_.facts(); }

 private:
  yarps::House house_;
  bool is_buffered_, is_direct_;
};

}  // namespace

int main(int argc, char** argv) { return run<Yarp>(argc, argv); }
