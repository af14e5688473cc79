/// The adapter for NATS, with the NATS C client: messages are published on subjects and pass through a broker.
/// ../README.md describes the wire format.
#include <nats/nats.h>

#include <optional>

#include "hopmeter/completion.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;

namespace {

using Message = Resource<natsMsg, natsMsg_Destroy>;
using NatsSubscription = Resource<natsSubscription, natsSubscription_Destroy>;

/// Throws an error with the library's text if `status` is not NATS_OK.
void demand(natsStatus status, const std::string& doing, const std::string& remedy = {}) {
  if (status != NATS_OK) throw Error(doing + ": " + natsStatus_GetText(status), remedy);
}

/// The connection to the broker, which all link ends of the process share.
class Connection {
 public:
  explicit Connection(const Setup& setup) {
    natsOptions* raw = nullptr;
    demand(natsOptions_Create(&raw), "preparing a connection to nats-server");
    const Resource<natsOptions, natsOptions_Destroy> options(raw);
    demand(natsOptions_SetURL(raw, ("nats://" + setup.broker()).c_str()), "naming nats-server");
    // Send published messages immediately, instead of with the next batch.
    demand(natsOptions_SetSendAsap(raw, true), "requesting that messages are sent immediately");
    natsConnection* connection = nullptr;
    demand(natsConnection_Connect(&connection, raw),
           "connecting to nats-server at " + BrokerAddress::parse(setup.broker()).text());
    connection_.reset(connection);
  }

  /// Publishes a frame, which the library copies into its own buffer. `reply_to` may be null.
  Sent publish(const char* subject, const char* reply_to, std::span<const std::byte> frame) const {
    const auto bytes = static_cast<int>(frame.size());
    const auto status = reply_to
                            ? natsConnection_PublishRequest(connection_.get(), subject, reply_to, frame.data(), bytes)
                            : natsConnection_Publish(connection_.get(), subject, frame.data(), bytes);
    demand(status, "publishing to nats-server", status == NATS_MAX_PAYLOAD ? "raise max_payload" : "");
    return Sent::accepted;
  }

  /// Subscribes to a subject with `function`, one of the library's functions.
  NatsSubscription subscribe(const auto& function, const std::string& subject, auto... more) const {
    natsSubscription* raw = nullptr;
    demand(function(&raw, connection_.get(), subject.c_str(), more...), "subscribing at nats-server");
    NatsSubscription subscription(raw);
    // As in hopmeter's other NATS adapters, only the number of messages limits the queue.
    demand(natsSubscription_SetPendingLimits(raw, 65536, -1), "raising a subscription's limits");
    return subscription;
  }

  /// Returns when the broker has processed all subscriptions.
  void flush() const { demand(natsConnection_Flush(connection_.get()), "telling nats-server of the subscription"); }

 private:
  Resource<natsConnection, natsConnection_Destroy> connection_;
};

/// Converts a message to the instrument's type.
Received to_received(const Message& message) {
  const auto* bytes = reinterpret_cast<const std::byte*>(natsMsg_GetData(message.get()));
  return Received::split({bytes, static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))});
}

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

/// A subscription with a callback on a library thread. The destructor waits for the last callback.
template <class Call>
class Called final : public Subscription {
 public:
  Called(const Connection& connection, const std::string& subject, Call call)
      : call_(std::move(call)), subscription_(connection.subscribe(natsConnection_Subscribe, subject, take, this)) {
    const auto complete = [](void* self) { static_cast<Called*>(self)->completion_.set(); };
    demand(natsSubscription_SetOnCompleteCB(subscription_.get(), complete, this), "watching a subscription");
    connection.flush();
  }

  ~Called() override {
    natsSubscription_Unsubscribe(subscription_.get());
    completion_.wait();
  }

 private:
  static void take(natsConnection*, natsSubscription*, natsMsg* raw, void* self) {
    const Message message(raw);
    static_cast<Called*>(self)->call_(message);
  }

  Call call_;
  Completion completion_;
  NatsSubscription subscription_;
};

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
    return std::make_unique<Called<decltype(call)>>(connection_, subject_, std::move(call));
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
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    auto call = [on_frame = std::move(on_frame)](const Message& message) { on_frame(to_received(message)); };
    return std::make_unique<Called<decltype(call)>>(shared_, link.name, std::move(call));
  }
  Facts facts() override { return {{"path", "TCP through nats-server"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Nats>(argc, argv); }
