/// NATS by its C client: subjects through a broker. ../README.md says what is on the wire.
#include <condition_variable>
#include <mutex>
#include <optional>

#include "connection.hpp"

using namespace hopmeter;

namespace {

/// What all ends of the process share.
struct Shop {
  explicit Shop(const Setup& setup) : connection(connected(setup.daemon())), spins(setup.wait() == Wait::spin) {}
  Connection connection;
  bool spins;
};

void settle(natsConnection* connection, natsSubscription* subscription) {
  // Only the number of messages bounds the queue, as it does in the other languages.
  demand(natsSubscription_SetPendingLimits(subscription, 65536, -1), "raising a subscription's limits");
  demand(natsConnection_Flush(connection), "telling nats-server of a subscription");
}

/// A subscription that is polled.
class Inbox {
 public:
  Inbox(Shop& shop, const std::string& subject) : spins_(shop.spins) {
    natsSubscription* raw = nullptr;
    demand(natsConnection_SubscribeSync(&raw, shop.connection.get(), subject.c_str()), "subscribing at nats-server");
    subscription_.reset(raw);
    settle(shop.connection.get(), raw);
  }

  /// The next message, or none in time; that nobody listens, as the broker says itself, is none.
  Message next(Timeout timeout) {
    const auto wait_ms = spins_ ? 0 : std::max<std::int64_t>(1, timeout.count() / 1'000'000);
    natsMsg* raw = nullptr;
    const auto status = natsSubscription_NextMsg(&raw, subscription_.get(), wait_ms);
    if (status == NATS_TIMEOUT) return nullptr;
    demand(status, "receiving from nats-server");
    Message message(raw);
    return natsMsg_IsNoResponders(raw) ? nullptr : std::move(message);
  }

 private:
  bool spins_;
  ::Subscription subscription_;
};

/// A subscription that the library calls on a thread of its own; destroyed when the last call has returned.
template <class Call>
class Called final : public hopmeter::Subscription {
 public:
  Called(Shop& shop, const std::string& subject, Call call) : call_(std::move(call)) {
    natsSubscription* raw = nullptr;
    demand(natsConnection_Subscribe(&raw, shop.connection.get(), subject.c_str(), take, this),
           "subscribing at nats-server");
    subscription_.reset(raw);
    demand(natsSubscription_SetOnCompleteCB(raw, completed, this), "watching a subscription");
    settle(shop.connection.get(), raw);
  }

  ~Called() override {
    natsSubscription_Unsubscribe(subscription_.get());
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return is_done_; });
  }

 private:
  static void take(natsConnection*, natsSubscription*, natsMsg* raw, void* self) {
    const Message message(raw);
    static_cast<Called*>(self)->call_(message);
  }
  static void completed(void* self) {
    auto& called = *static_cast<Called*>(self);
    const std::lock_guard lock(called.mutex_);
    called.is_done_ = true;
    called.done_.notify_all();
  }

  Call call_;
  ::Subscription subscription_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
};

class Pub final : public Publisher {
 public:
  Pub(Shop& shop, const Link& link) : shop_(shop), subject_(link.name) {}
  Sent send(std::size_t payload_bytes, Fill fill) override {
    return draft_.publish(shop_.connection.get(), subject_.c_str(), nullptr, payload_bytes, fill);
  }

 private:
  Shop& shop_;
  std::string subject_;
  Draft draft_;
};

class Sub final : public Subscriber {
 public:
  Sub(Shop& shop, const Link& link) : inbox_(shop, link.name) {}
  std::size_t poll(Timeout timeout, Take take) override {
    const auto message = inbox_.next(timeout);
    if (message) take(received(message));
    return message ? 1 : 0;
  }

 private:
  Inbox inbox_;
};

std::string new_inbox() {
  natsInbox* raw = nullptr;
  demand(natsInbox_Create(&raw), "naming an inbox");
  const std::unique_ptr<natsInbox, Destroys<natsInbox_Destroy>> inbox(raw);
  return raw;
}

/// The asking end; the replies of all its calls come to one inbox.
class Asking final : public Client {
 public:
  Asking(Shop& shop, const Link& link)
      : shop_(shop), subject_(link.name), reply_to_(new_inbox()), inbox_(shop, reply_to_) {}
  Sent start(std::size_t payload_bytes, Fill fill) override {
    return draft_.publish(shop_.connection.get(), subject_.c_str(), reply_to_.c_str(), payload_bytes, fill);
  }
  std::size_t poll(Timeout timeout, Take take) override {
    const auto message = inbox_.next(timeout);
    if (message) take(received(message));
    return message ? 1 : 0;
  }

 private:
  Shop& shop_;
  std::string subject_, reply_to_;
  Inbox inbox_;
  Draft draft_;
};

/// Answers one request; one that wants no reply is answered to nobody.
class Replying final : public Replier {
 public:
  Replying(Shop& shop, const Message& request, Draft& draft)
      : shop_(shop), reply_to_(natsMsg_GetReply(request.get())), draft_(draft) {}
  Sent reply(std::size_t payload_bytes, Fill fill) override {
    if (!reply_to_) return Sent::accepted;
    return draft_.publish(shop_.connection.get(), reply_to_, nullptr, payload_bytes, fill);
  }

 private:
  Shop& shop_;
  const char* reply_to_;
  Draft& draft_;
};

class Answering final : public Server {
 public:
  Answering(Shop& shop, const Link& link, bool polled) : shop_(shop), subject_(link.name) {
    if (polled) inbox_.emplace(shop, subject_);
  }

  std::size_t poll(Timeout timeout, Handle handle) override {
    const auto request = inbox_.value().next(timeout);
    if (!request) return 0;
    Replying replier(shop_, request, draft_);
    handle(received(request), replier);
    return 1;
  }

  Owned<hopmeter::Subscription> serve(OnRequest on_request) override {
    auto call = [this, on_request = std::move(on_request)](const Message& request) {
      Replying replier(shop_, request, draft_);
      on_request(received(request), replier);
    };
    return std::make_unique<Called<decltype(call)>>(shop_, subject_, std::move(call));
  }

 private:
  Shop& shop_;
  std::string subject_;
  std::optional<Inbox> inbox_;
  Draft draft_;
};

class Nats final : public Transport {
 public:
  explicit Nats(const Setup& setup) : setup_(setup), shop_(setup) {}

  static std::string version() { return nats_GetVersion(); }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Pub>(shop_, link); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Sub>(shop_, link); }
  Owned<hopmeter::Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    auto call = [on_frame = std::move(on_frame)](const Message& message) { on_frame(received(message)); };
    return std::make_unique<Called<decltype(call)>>(shop_, link.name, std::move(call));
  }
  Owned<Server> server(const Link& link) override {
    return std::make_unique<Answering>(shop_, link, setup_.wait() != Wait::callback);
  }
  Owned<Client> client(const Link& link) override { return std::make_unique<Asking>(shop_, link); }
  Facts facts() override { return {{"path", "TCP through nats-server"}}; }

 private:
  Setup setup_;
  Shop shop_;
};

}  // namespace

int main(int argc, char** argv) { return run<Nats>(argc, argv); }
