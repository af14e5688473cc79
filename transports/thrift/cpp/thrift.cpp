/// Thrift: calls of a service over sockets, with messages that the Thrift compiler made.
#include <thrift/config.h>

#include <optional>
#include <thread>

#include "channel.hpp"
#include "message.hpp"
#include "servers.hpp"

namespace {

using namespace hopmeter;
using carriage::Image;
using carriage::Shape;
using carriage::Timing;
using channel::Channel;
using channel::Stack;
using channel::TTransportException;
using idl::ExchangeClient;

void ask(ExchangeClient& client, const Timing& request) { client.send_timing(request); }
void ask(ExchangeClient& client, const Image& request) { client.send_image(request); }
void hear(ExchangeClient& client, Timing& reply) { client.recv_timing(reply); }
void hear(ExchangeClient& client, Image& reply) { client.recv_image(reply); }

/// The generated client, whose calls consist of a sending and a receiving half.
template <class Message>
class Caller final : public Client {
 public:
  Caller(const Stack& stack, const Link& link, Shape shape)
      : channel_(Channel::connected(stack, link.address)), client_(channel_.protocol()), shape_(shape) {}

  Sent start(std::size_t payload_bytes, Fill fill) override {
    carriage::write(request_, payload_bytes, fill, shape_);
    if (!gone_) unless_gone([this] { ask(client_, request_); });
    return Sent::accepted;
  }

  std::size_t poll(Timeout timeout, Take take) override {
    channel_.socket().expect(timeout, channel_.buffered());
    const bool come = !gone_ && unless_gone([this] { hear(client_, reply_); });
    // Without this pause the role would ask a server that has gone for good without end.
    if (gone_) std::this_thread::sleep_for(timeout);
    if (come) carriage::read(reply_, take);
    return come ? 1 : 0;
  }

 private:
  /// Whether it was done: a request without an answer is lost, as is all that goes to a server that has gone.
  bool unless_gone(auto&& step) {
    try {
      step();
      return true;
    } catch (const idl::Unanswered&) {
      return false;
    } catch (const TTransportException& error) {
      gone_ = channel_.left(error);
      if (!gone_ && error.getType() != TTransportException::TIMED_OUT) throw;
      return false;
    }
  }

  Channel channel_;
  ExchangeClient client_;
  Shape shape_;
  Message request_, reply_;
  bool gone_ = false;
};

class Thrift final : public Transport {
 public:
  explicit Thrift(const Setup& setup)
      : setup_(setup),
        stack_(setup),
        shape_{static_cast<std::int32_t>(setup.width()), static_cast<std::int32_t>(setup.height())} {}

  static std::string version() { return "libthrift " PACKAGE_VERSION; }

  Owned<Server> server(const Link& link) override {
    if (setup_.wait() != Wait::callback) return servers::polled(stack_, link, shape_);
    return servers::called(stack_, link, shape_, setup_.setting<std::string>("server"));
  }

  Owned<Client> client(const Link& link) override {
    if (setup_.payload() == PayloadKind::image) return std::make_unique<Caller<Image>>(stack_, link, shape_);
    return std::make_unique<Caller<Timing>>(stack_, link, shape_);
  }

  Facts facts() override { return {{"path", stack_.unix_sockets ? "Unix sockets" : "TCP on the loopback device"}}; }

 private:
  Setup setup_;
  Stack stack_;
  Shape shape_;
};

}  // namespace

int main(int argc, char** argv) { return run<Thrift>(argc, argv); }
