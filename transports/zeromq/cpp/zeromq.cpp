/// The adapter for ZeroMQ with cppzmq: PUB and SUB, DEALER and ROUTER. ../README.md describes the wire format.
#include "socket.hpp"

using namespace hopmeter;

namespace {

class Router final : public Server, public Replier {
 public:
  Router(Process& process, const Link& link) : socket_(process, zmq::socket_type::router, link) {
    // If the queue is full, ZeroMQ refuses a reply with this option, and would drop the reply without this option.
    (*socket_).set(zmq::sockopt::router_mandatory, true);
    socket_.bind(link);
  }
  std::string address() const override { return socket_.address(); }

  std::size_t poll(Timeout timeout, Handle handle) override {
    if (!socket_.receive(route_, timeout)) return 0;
    zmq::message_t request;
    if (!route_.more() || !(*socket_).recv(request)) throw Error("a request came without its frame");
    handle(to_received(request), *this);
    return 1;
  }

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    return answer([&] { return socket_.send_after(&route_, payload_bytes, fill); });
  }
  Sent forward(const Received& received) override {
    return answer([&] { return socket_.forward_after(&route_, received); });
  }

 private:
  static Sent answer(auto&& send) {
    try {
      return send();
    } catch (const zmq::error_t& error) {
      // The client has disconnected, so its reply is lost, like every message without a receiver.
      if (error.num() == EHOSTUNREACH) return Sent::accepted;
      throw;
    }
  }

  Socket socket_;
  zmq::message_t route_;
};

class Zeromq final : public Transport {
 public:
  explicit Zeromq(const Setup& setup) : process_(setup) {}

  static std::string version() {
    const auto [major, minor, patch] = zmq::version();
    return "libzmq " + version_text(major, minor, patch);
  }

  Owned<Publisher> publisher(const Link& link) override {
    auto socket = std::make_unique<Socket>(process_, zmq::socket_type::pub, link);
    (**socket).set(zmq::sockopt::xpub_nodrop, process_.setup.setting<bool>("nodrop"));
    socket->bind(link);
    return socket;
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    auto socket = std::make_unique<Socket>(process_, zmq::socket_type::sub, link);
    (**socket).set(zmq::sockopt::subscribe, "");
    socket->connect(link);
    return socket;
  }
  Owned<Server> server(const Link& link) override { return std::make_unique<Router>(process_, link); }
  Owned<Client> client(const Link& link) override {
    auto socket = std::make_unique<Socket>(process_, zmq::socket_type::dealer, link);
    socket->connect(link);
    return socket;
  }
  Facts facts() override { return {{"path", process_.path()}}; }

 private:
  Process process_;
};

}  // namespace

int main(int argc, char** argv) { return run<Zeromq>(argc, argv); }
