/// The adapter for Thrift: calls of a service over sockets, with messages that the Thrift compiler generates.
#include <thrift/config.h>

#include "hopmeter/choice.hpp"
#include "servers.hpp"

namespace {

using namespace hopmeter;
using idl::ExchangeClient;

void send(ExchangeClient& client, const Timing& request) { client.send_timing(request); }
void send(ExchangeClient& client, const Image& request) { client.send_image(request); }
void receive(ExchangeClient& client, Timing& reply) { client.recv_timing(reply); }
void receive(ExchangeClient& client, Image& reply) { client.recv_image(reply); }

/// A client that uses the generated code. A call has a sending and a receiving half.
template <class Message>
class Caller final : public Client {
 public:
  Caller(const Stack& stack, const Link& link)
      : link_(link), channel_(stack, link.address), client_(channel_.protocol()) {}

  Sent start(std::size_t payload_bytes, Fill fill) override {
    Layout<Message>::shape(request_, link_);
    write_message<Layout<Message>>(request_, payload_bytes, fill);
    if (!is_gone_) attempt([this] { send(client_, request_); });
    return Sent::accepted;
  }

  std::size_t poll(Timeout timeout, Take take) override {
    channel_.socket().expect_message(timeout, channel_.has_buffered());
    const bool has_reply = !is_gone_ && attempt([this] { receive(client_, reply_); });
    // The server does not reconnect. Without this pause, the role would poll in a busy loop.
    if (is_gone_) std::this_thread::sleep_for(timeout);
    if (has_reply) hand_over<Layout<Message>>(reply_, take);
    return has_reply ? 1 : 0;
  }

 private:
  /// Returns whether `step` succeeded. An unanswered request is lost, like every message to a disconnected server.
  bool attempt(auto&& step) {
    try {
      step();
      return true;
    } catch (const idl::Unanswered&) {
      return false;
    } catch (const TTransportException& error) {
      is_gone_ = channel_.is_farewell(error);
      if (!is_gone_ && error.getType() != TTransportException::TIMED_OUT) throw;
      return false;
    }
  }

  Link link_;
  Channel channel_;
  ExchangeClient client_;
  Message request_, reply_;
  bool is_gone_ = false;
};

class Thrift final : public Transport {
 public:
  explicit Thrift(const Setup& setup) : stack_(setup) {}

  static std::string version() { return "libthrift " PACKAGE_VERSION; }

  Owned<Server> server(const Link& link) override {
    if (link.wait == Wait::callback) return std::make_unique<CalledServer>(stack_, link);
    return std::make_unique<PolledServer>(stack_, link);
  }

  Owned<Client> client(const Link& link) override {
    return MessageTypes<Timing, Image>::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return Owned<Client>(std::make_unique<Caller<Message>>(stack_, link));
    });
  }

  Facts facts() override {
    return {{"path", stack_.uses_unix ? "Unix sockets" : "TCP on " + stack_.setup.network_device()}};
  }

 private:
  Stack stack_;
};

}  // namespace

int main(int argc, char** argv) { return run<Thrift>(argc, argv); }
