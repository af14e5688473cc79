/// ZeroMQ by cppzmq: PUB and SUB, DEALER and ROUTER. ../README.md says what is on the wire.
#include "hopmeter/hopmeter.hpp"
#include "socket.hpp"

using namespace hopmeter;

namespace {

class Pub final : public Publisher {
 public:
  Pub(Shop& shop, const Link& link) : socket_(shop, zmq::socket_type::pub) {
    (*socket_).set(zmq::sockopt::xpub_nodrop, shop.setup.setting<bool>("nodrop"));
    socket_.bind(shop.setup, link);
  }
  std::string address() const override { return socket_.address(); }
  Sent send(std::size_t payload_bytes, Fill fill) override { return socket_.send(payload_bytes, fill); }
  Sent forward(const Received& received) override { return socket_.forward(received); }

 private:
  Socket socket_;
};

class Sub final : public Subscriber {
 public:
  Sub(Shop& shop, const Link& link) : socket_(shop, zmq::socket_type::sub) {
    (*socket_).set(zmq::sockopt::subscribe, "");
    socket_.connect(link);
  }

  std::size_t poll(Timeout timeout, Take take) override { return socket_.poll(timeout, take); }

 private:
  Socket socket_;
};

class Dealer final : public Client {
 public:
  Dealer(Shop& shop, const Link& link) : socket_(shop, zmq::socket_type::dealer) { socket_.connect(link); }
  Sent start(std::size_t payload_bytes, Fill fill) override { return socket_.send(payload_bytes, fill); }
  Sent forward(const Received& received) override { return socket_.forward(received); }

  std::size_t poll(Timeout timeout, Take take) override { return socket_.poll(timeout, take); }

 private:
  Socket socket_;
};

class Router final : public Server, public Replier {
 public:
  Router(Shop& shop, const Link& link) : socket_(shop, zmq::socket_type::router) {
    // Without it a reply that finds the queue full would be dropped instead of refused.
    (*socket_).set(zmq::sockopt::router_mandatory, true);
    socket_.bind(shop.setup, link);
  }
  std::string address() const override { return socket_.address(); }

  std::size_t poll(Timeout timeout, Handle handle) override {
    if (!socket_.receive(route_, timeout)) return 0;
    zmq::message_t request;
    if (!route_.more() || !(*socket_).recv(request)) throw Error("a request came without its frame");
    handle(received(request), *this);
    return 1;
  }

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    return answer([&] { return socket_.send(payload_bytes, fill, &route_); });
  }

  Sent forward(const Received& received) override {
    return answer([&] { return socket_.forward(received, &route_); });
  }

 private:
  static Sent answer(auto&& send) {
    try {
      return send();
    } catch (const zmq::error_t& error) {
      // The client is gone: its reply is lost, as everything sent to nobody is.
      if (error.num() == EHOSTUNREACH) return Sent::accepted;
      throw;
    }
  }

  Socket socket_;
  zmq::message_t route_;
};

class Zeromq final : public Transport {
 public:
  explicit Zeromq(const Setup& setup) : shop_(setup) {}

  static std::string version() {
    const auto [major, minor, patch] = zmq::version();
    return "libzmq " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Pub>(shop_, link); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Sub>(shop_, link); }
  Owned<Server> server(const Link& link) override { return std::make_unique<Router>(shop_, link); }
  Owned<Client> client(const Link& link) override { return std::make_unique<Dealer>(shop_, link); }
  Facts facts() override { return {{"path", shop_.over_tcp() ? "TCP on the loopback device" : "Unix sockets"}}; }

 private:
  Shop shop_;
};

}  // namespace

int main(int argc, char** argv) { return run<Zeromq>(argc, argv); }
