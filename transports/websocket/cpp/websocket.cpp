/// The adapter for WebSocket in C++, with Boost.Beast. ../README.md describes wire format and threads.
#include <boost/version.hpp>

#include "endpoint.hpp"
#include "hopmeter/loop_thread.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;

namespace {

/// A WebSocket server that never reads.
class TopicPublisher final : public Publisher {
 public:
  TopicPublisher(const Endpoint& endpoint, const Link& link)
      : acceptor_(endpoint, link, nullptr, [this](SharedConnection receiver) {
          const std::lock_guard lock(mutex_);
          receivers_.push_back(std::move(receiver));
        }) {}
  ~TopicPublisher() override {
    acceptor_.stop();
    receivers_.clear();
  }

  std::string address() const override { return acceptor_.address(); }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    return publish([&] { return draft_.write(payload_bytes, fill); });
  }
  Sent forward(const Received& received) override {
    return publish([&] { return received.require_native<Message>("a WebSocket"); });
  }

 private:
  Sent publish(const auto& write) {
    const std::lock_guard lock(mutex_);
    if (!std::ranges::all_of(receivers_, [](const auto& receiver) { return receiver->is_ready(); })) return Sent::busy;
    const Message message = write();
    for (const auto& receiver : receivers_) receiver->send(message);
    std::erase_if(receivers_, [](const auto& receiver) { return receiver->has_ended(); });
    return Sent::accepted;
  }

  Draft draft_;
  std::mutex mutex_;
  std::vector<SharedConnection> receivers_;
  Acceptor acceptor_;
};

/// A WebSocket client that receives messages or replies.
class Receiver {
 public:
  Receiver(const Endpoint& endpoint, const Link& link)
      : inbox_(link), connection_(endpoint.connect(inbox_.context(), link)) {
    inbox_.add(connection_);
  }

 protected:
  std::size_t receive(Timeout timeout, const auto& take) {
    return inbox_.poll(timeout, [&](const Received& received, Connection&) { take(received); });
  }

  Inbox inbox_;
  SharedConnection connection_;
};

class TopicSubscriber final : public Subscriber, Receiver {
 public:
  using Receiver::Receiver;
  std::size_t poll(Timeout timeout, Take take) override { return receive(timeout, take); }
};

/// How long the io_context of a callback receiver runs until the receiver restarts the io_context.
constexpr std::chrono::minutes turn{1};

class TopicSubscription final : public Subscription, Receiver {
 public:
  TopicSubscription(const Endpoint& endpoint, const Link& link, OnFrame on_frame)
      : Receiver(endpoint, link),
        thread_([this, on_frame = std::move(on_frame)] { receive(turn, on_frame); },
                [this] { inbox_.context().stop(); }) {}

 private:
  LoopThread thread_;
};

class CallClient final : public Client, Receiver {
 public:
  using Receiver::Receiver;
  Sent start(std::size_t payload_bytes, Fill fill) override { return connection_->reply(payload_bytes, fill); }
  Sent forward(const Received& received) override { return connection_->forward(received); }
  std::size_t poll(Timeout timeout, Take take) override { return receive(timeout, take); }
};

class CallServer final : public Server {
 public:
  CallServer(const Endpoint& endpoint, const Link& link)
      : inbox_(link), acceptor_(endpoint, link, &inbox_.context(), [this](SharedConnection client) {
          net::post(inbox_.context(), [this, client = std::move(client)]() mutable { inbox_.add(std::move(client)); });
        }) {}

  std::string address() const override { return acceptor_.address(); }
  std::size_t poll(Timeout timeout, Handle handle) override { return inbox_.poll(timeout, handle); }

  Owned<Subscription> serve(OnRequest on_request) override {
    return std::make_unique<LoopThread>([this, on_request = std::move(on_request)] { inbox_.poll(turn, on_request); },
                                        [this] { inbox_.context().stop(); });
  }

 private:
  Inbox inbox_;
  Acceptor acceptor_;
};

using Ends = TransportOf<Endpoint, TopicPublisher, TopicSubscriber, TopicSubscription, CallServer, CallClient>;

class WebSocket final : public Ends {
 public:
  using Ends::Ends;

  static std::string version() {
    return "Boost.Beast " + std::to_string(BOOST_BEAST_VERSION) + " of Boost " + BOOST_LIB_VERSION;
  }

  Facts facts() override {
    const std::string above = shared_.encryption.is_on() ? "TLS over " : "";
    return {{"path", above + (shared_.is_unix ? "Unix sockets" : "TCP on " + shared_.setup.network_device())}};
  }
};

}  // namespace

int main(int argc, char** argv) { return run<WebSocket>(argc, argv); }
