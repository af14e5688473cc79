/// The adapter for NATS, with the NATS C client: messages are published on subjects and pass through a broker.
/// ../README.md describes the wire format.
#include <optional>

#include "connection.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/transport_of.hpp"
#include "jetstream.hpp"

using namespace hopmeter;

namespace {

/// A polled subscription.
class Inbox final : public Subscriber {
 public:
  Inbox(const Connection& connection, const std::string& subject, Wait wait)
      : spins_(wait == Wait::spin), subscription_(connection.subscribe(natsConnection_SubscribeSync, subject)) {
    connection.flush();
  }
  Inbox(const Connection& connection, const Link& link) : Inbox(connection, link.name, link.wait) {}

  std::size_t poll(Timeout timeout, Take take) override {
    return receive(timeout, [&](const Message& message) { take(to_received(message)); });
  }

  /// Passes on the next message, and returns 0 after the timeout. Ignores the broker's own "no responders" messages.
  std::size_t receive(Timeout timeout, const auto& hand_over) {
    const auto wait_ms = spins_ ? 0 : std::max<std::int64_t>(1, timeout.count() / 1'000'000);
    natsMsg* raw = nullptr;
    const auto status = natsSubscription_NextMsg(&raw, subscription_.get(), wait_ms);
    if (status == NATS_TIMEOUT) return 0;
    demand(status, "receiving from nats-server");
    const Message message(raw);
    if (natsMsg_IsNoResponders(raw)) return 0;
    hand_over(message);
    return 1;
  }

 private:
  bool spins_;
  NatsSubscription subscription_;
};

/// Calls a function for each message of a subject, on a thread of the library.
Owned<Subscription> call_for_each(const Connection& connection, const std::string& subject, auto call) {
  const auto open = [&](auto... more) { return connection.subscribe(natsConnection_Subscribe, subject, more...); };
  return std::make_unique<Called<decltype(call)>>(connection, open, std::move(call));
}

/// Publishes to a link; if the link end has an inbox for replies, each message names the inbox.
class Pub final : public Publisher {
 public:
  Pub(const Connection& connection, const Link& link, std::string reply_to = {})
      : connection_(connection), subject_(link.name), reply_to_(std::move(reply_to)) {}
  Sent send(std::size_t payload_bytes, Fill fill) override {
    const auto* reply_to = reply_to_.empty() ? nullptr : reply_to_.c_str();
    return connection_.publish(subject_.c_str(), reply_to, draft_.write(payload_bytes, fill));
  }

 private:
  const Connection& connection_;
  std::string subject_, reply_to_;
  Draft draft_;
};

std::string new_inbox() {
  natsInbox* raw = nullptr;
  demand(natsInbox_Create(&raw), "naming an inbox");
  const Resource<natsInbox, natsInbox_Destroy> inbox(raw);
  return raw;
}

/// A client that receives the replies to all its calls in one inbox.
class Requester final : public Client {
 public:
  Requester(const Connection& connection, const Link& link, const std::string& inbox = new_inbox())
      : replies_(connection, inbox, link.wait), requests_(connection, link, inbox) {}
  Sent start(std::size_t payload_bytes, Fill fill) override { return requests_.send(payload_bytes, fill); }
  std::size_t poll(Timeout timeout, Take take) override { return replies_.poll(timeout, take); }

 private:
  Inbox replies_;
  Pub requests_;
};

class Responder final : public Server, public Replier {
 public:
  Responder(const Connection& connection, const Link& link) : connection_(connection), subject_(link.name) {
    if (link.wait != Wait::callback) inbox_.emplace(connection, link);
  }

  std::size_t poll(Timeout timeout, Handle handle) override {
    return inbox_.value().receive(timeout, [&](const Message& request) { answer(request, handle); });
  }

  Owned<Subscription> serve(OnRequest on_request) override {
    auto call = [this, on_request = std::move(on_request)](const Message& request) { answer(request, on_request); };
    return call_for_each(connection_, subject_, std::move(call));
  }

  /// A request without an inbox gets no reply.
  Sent reply(std::size_t payload_bytes, Fill fill) override {
    if (!reply_to_) return Sent::accepted;
    return connection_.publish(reply_to_, nullptr, draft_.write(payload_bytes, fill));
  }

 private:
  void answer(const Message& request, const auto& handle) {
    reply_to_ = natsMsg_GetReply(request.get());
    handle(to_received(request), *this);
  }

  const Connection& connection_;
  std::string subject_;
  std::optional<Inbox> inbox_;
  /// The inbox that the current request names for its reply.
  const char* reply_to_ = nullptr;
  Draft draft_;
};

class Nats final : public TransportOf<Connection, Pub, Inbox, Responder, Requester> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return nats_GetVersion(); }
  Owned<Publisher> publisher(const Link& link) override {
    if (is_durable_) return std::make_unique<StreamPublisher>(shared_, link);
    return TransportOf::publisher(link);
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    if (is_durable_) return std::make_unique<Consumer>(shared_, link);
    return TransportOf::subscriber(link);
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    if (is_durable_) return consume(shared_, link, std::move(on_frame));
    auto call = [on_frame = std::move(on_frame)](const Message& message) { on_frame(to_received(message)); };
    return call_for_each(shared_, link.name, std::move(call));
  }
  Facts facts() override {
    const auto below = connection_kind(shared_.setup());
    return {{"path", below + " through " + (is_durable_ ? "a stream of nats-server" : "nats-server")}};
  }

 private:
  bool is_durable_ = shared_.setup().setting<bool>("durable");
};

}  // namespace

int main(int argc, char** argv) { return run<Nats>(argc, argv); }
