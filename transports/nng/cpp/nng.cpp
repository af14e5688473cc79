/// The adapter for nng with its C library: PUB and SUB or PUSH and PULL, REQ and REP. ../README.md describes the wire
/// format.
#include "calls.hpp"
#include "socket.hpp"

// These headers must be included after nng/nng.h.
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

using namespace hopmeter;

namespace {

/// A receiver with a callback on nng's threads. Each callback then requests the next message.
class Called final : public Subscription {
 public:
  Called(std::unique_ptr<Socket> socket, OnFrame on_frame)
      : socket_(std::move(socket)), on_frame_(std::move(on_frame)), aio_(make_aio(this)) {
    nng_recv_aio(**socket_, aio_.get());
  }
  /// Waits for a running callback, and prevents further callbacks.
  ~Called() override { nng_aio_stop(aio_.get()); }

  void finish() {
    if (nng_aio_result(aio_.get()) != 0) return;
    hand_over(Message(nng_aio_get_msg(aio_.get())), on_frame_);
    nng_recv_aio(**socket_, aio_.get());
  }

 private:
  std::unique_ptr<Socket> socket_;
  OnFrame on_frame_;
  Aio aio_;
};

class Nng final : public Transport {
 public:
  explicit Nng(const Setup& setup) : setup_(setup), pushes_(setup.setting<std::string>("protocol") == "push") {}

  static std::string version() { return std::string("libnng ") + nng_version(); }

  Owned<Publisher> publisher(const Link& link) override {
    if (pushes_ && link.receivers > 1)
      throw Error("PUSH sends each frame to only one receiver, but " + link.name + " has several",
                  "use protocol = \"pub\"");
    auto socket = std::make_unique<Socket>(pushes_ ? nng_push0_open : nng_pub0_open, link);
    if (const auto frames = setup_.setting<int>("send_buffer"); frames >= 0) socket->set(NNG_OPT_SENDBUF, frames);
    socket->bind(setup_, link);
    return socket;
  }
  Owned<Subscriber> subscriber(const Link& link) override { return receiver(link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<Called>(receiver(link), std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return std::make_unique<Responder>(setup_, link); }
  Owned<Client> client(const Link& link) override { return std::make_unique<Requester>(link); }

  Facts facts() override {
    const auto endpoint = setup_.setting<std::string>("endpoint");
    if (endpoint == "ipc") return {{"path", "Unix sockets"}};
    return {{"path", endpoint == "tcp" ? "tcp on " + setup_.network_device() : "memory of this process"}};
  }

 private:
  /// Returns a connected SUB or PULL socket.
  std::unique_ptr<Socket> receiver(const Link& link) {
    auto socket = std::make_unique<Socket>(pushes_ ? nng_pull0_open : nng_sub0_open, link);
    if (!pushes_) {
      demand(nng_socket_set(**socket, NNG_OPT_SUB_SUBSCRIBE, "", 0), "subscribing");
      socket->set(NNG_OPT_RECVBUF, setup_.setting<int>("receive_buffer"));
    }
    socket->connect(link);
    return socket;
  }

  Setup setup_;
  bool pushes_;
};

}  // namespace

int main(int argc, char** argv) { return run<Nng>(argc, argv); }
