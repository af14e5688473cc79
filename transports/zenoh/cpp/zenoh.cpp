/// The adapter for zenoh: peers that find each other by address, without a router and without multicast. ../README.md
/// describes sessions, keys and settings.
#include "channel.hpp"
#include "hopmeter/mailbox.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;
using namespace peers;
using zenoh::Bytes, zenoh::Query, zenoh::Reply, zenoh::Sample;

namespace {

/// The state that all link ends of a node share.
struct Peer {
  explicit Peer(const Setup& setup)
      : shared_memory(setup),
        sessions(setup, shared_memory),
        arrivals(shared_memory),
        congestion(setup.setting<std::string>("congestion") == "block" ? Z_CONGESTION_CONTROL_BLOCK
                                                                       : Z_CONGESTION_CONTROL_DROP),
        express(setup.setting<bool>("express")),
        channel(setup.setting<std::size_t>("channel")),
        device(setup.network_device()) {}

  /// Removes the shared memory that zenoh's sessions leave behind. All shared memory that this process has mapped
  /// belongs to this trial, and the peers have finished measuring.
  ~Peer() {
    if (shared_memory.is_on()) remove_mapped_segments();
  }

  SharedMemory shared_memory;
  Sessions sessions;
  Arrivals arrivals;
  zenoh::CongestionControl congestion;
  bool express;
  /// How many frames a blocking receiver's channel can hold.
  std::size_t channel;
  std::string device;
};

/// Returns the key of a link, which is the same in every language.
std::string key(const Link& link) { return "hopmeter/" + link.name; }

/// Sets the options that publishers and queriers have in common.
template <class Options>
Options with_quality(const Peer& peer, Options options = {}) {
  options.congestion_control = peer.congestion;
  options.is_express = peer.express;
  return options;
}

/// The publisher of a pubsub link. The member `publisher_` is destroyed before its session, as in the classes below.
class TopicPublisher final : public Publisher {
 public:
  TopicPublisher(Peer& peer, const Link& link)
      : listening_(peer.sessions.listening_session()),
        memory_(peer.shared_memory, link.frame_bytes),
        publisher_(
            listening_.session->declare_publisher(key(link), with_quality<zenoh::Session::PublisherOptions>(peer))) {}

  std::string address() const override { return listening_.address; }
  Sent send(std::size_t payload_bytes, Fill fill) override {
    return memory_.send(payload_bytes, fill, [&](Bytes frame) { publisher_.put(std::move(frame)); });
  }
  Sent forward(const Received& received) override {
    const auto* message = received.native<Bytes>();
    if (!message) return Publisher::forward(received);
    publisher_.put(message->clone());
    return Sent::accepted;
  }

 private:
  Listening listening_;
  Memory memory_;
  zenoh::Publisher publisher_;
};

/// The polled subscriber, which sleeps on a channel.
class TopicSubscriber final : public Subscriber {
 public:
  TopicSubscriber(Peer& peer, const Link& link)
      : session_(peer.sessions.session_to(link.address)),
        incoming_(peer.arrivals),
        subscriber_(session_->declare_subscriber(key(link), zenoh::channels::FifoChannel(peer.channel))),
        channel_(subscriber_.handler(), [this, key = zenoh::KeyExpr(key(link))] { wake(key); }) {}

  std::size_t poll(Timeout, Take take) override {
    return channel_.receive([&](const Sample& sample) { return incoming_.pass(sample.get_payload(), take); });
  }

 private:
  void wake(const zenoh::KeyExpr& key) const {
    zenoh::Session::PutOptions options;
    options.allowed_destination = Z_LOCALITY_SESSION_LOCAL;
    session_->put(key, Bytes(), std::move(options));
  }

  SessionPointer session_;
  Incoming incoming_;
  zenoh::Subscriber<Handler<Sample>> subscriber_;
  Channel<Sample> channel_;
};

/// The client, which receives the replies to all its calls in one mailbox.
class CallClient final : public Client {
 public:
  CallClient(Peer& peer, const Link& link)
      : session_(peer.sessions.session_to(link.address)),
        incoming_(peer.arrivals),
        memory_(peer.shared_memory, link.frame_bytes),
        querier_(session_->declare_querier(key(link), options(peer))) {}

  Sent start(std::size_t payload_bytes, Fill fill) override {
    return memory_.send(payload_bytes, fill, [&](Bytes request) { send_query(std::move(request)); });
  }
  Sent forward(const Received& received) override {
    const auto* message = received.native<Bytes>();
    if (!message) return Client::forward(received);
    send_query(message->clone());
    return Sent::accepted;
  }
  std::size_t poll(Timeout timeout, Take take) override {
    std::size_t frames = 0;
    for (auto next = replies_->pop(timeout); next; next = replies_->pop(Timeout::zero())) frames += pass(*next, take);
    return frames;
  }

 private:
  using Replies = Mailbox<std::optional<Reply>>;
  /// The text with which zenoh ends a query that got no reply.
  static constexpr std::string_view timed_out = "Timeout";

  /// Without consolidation, zenoh passes a reply on when the reply arrives, not when the query ends.
  static zenoh::Session::QuerierOptions options(const Peer& peer) {
    auto options = with_quality<zenoh::Session::QuerierOptions>(peer);
    options.consolidation = zenoh::QueryConsolidation(Z_CONSOLIDATION_MODE_NONE);
    return options;
  }

  void send_query(Bytes request) {
    zenoh::Querier::GetOptions options;
    options.payload = std::move(request);
    // A reply may still arrive after this client has been destroyed.
    const auto keep = [replies = replies_](Reply& reply) { replies->push(std::move(reply)); };
    querier_.get(
        "", keep, [] {}, std::move(options));
  }

  /// Passes a reply on; returns the number of frames. A query or reply that zenoh dropped counts as a lost call.
  std::size_t pass(const Reply& reply, const Take& take) {
    if (reply.is_ok()) return incoming_.pass(reply.get_ok().get_payload(), take);
    const auto why = reply.get_err().get_payload().as_string();
    if (why != timed_out) throw Error("zenoh ended a query without a reply: " + why);
    return 0;
  }

  SessionPointer session_;
  Incoming incoming_;
  Memory memory_;
  std::shared_ptr<Replies> replies_ = std::make_shared<Replies>(64);
  zenoh::Querier querier_;
};

/// The server, which is also the replier of the current request.
class CallServer final : public Server, public Replier {
 public:
  CallServer(Peer& peer, const Link& link)
      : listening_(peer.sessions.listening_session()),
        incoming_(peer.arrivals),
        memory_(peer.shared_memory, link.frame_bytes),
        key_(key(link)) {
    if (link.wait == Wait::callback) return;
    queryable_.emplace(listening_.session->declare_queryable(key_, zenoh::channels::FifoChannel(peer.channel)));
    channel_.emplace(queryable_->handler(), [this] { wake(); });
  }

  std::string address() const override { return listening_.address; }
  std::size_t poll(Timeout, Handle handle) override {
    return channel_.value().receive([&](const Query& query) { return answer(query, handle); });
  }
  Owned<Subscription> serve(OnRequest on_request) override {
    const auto declare = [&](zenoh::Session& session, auto on_drop) {
      auto call = [this, on_request = std::move(on_request)](const Query& query) {
        const std::lock_guard lock(mutex_);
        answer(query, on_request);
      };
      return session.declare_queryable(key_, std::move(call), std::move(on_drop));
    };
    return std::make_unique<Called<zenoh::Queryable<void>>>(listening_.session, declare);
  }

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    return memory_.send(payload_bytes, fill, [&](Bytes reply) { query_->reply(key_, std::move(reply)); });
  }
  Sent forward(const Received& received) override {
    const auto* message = received.native<Bytes>();
    if (!message) return Replier::forward(received);
    query_->reply(key_, message->clone());
    return Sent::accepted;
  }

 private:
  void wake() const {
    zenoh::Session::GetOptions options;
    options.allowed_destination = Z_LOCALITY_SESSION_LOCAL;
    listening_.session->get(
        key_, "", [](Reply&) {}, [] {}, std::move(options));
  }

  /// A query without a payload only wakes the server.
  std::size_t answer(const Query& query, const auto& handle) {
    const auto request = query.get_payload();
    if (!request) return 0;
    query_ = &query;
    return incoming_.pass(request->get(), [&](const Received& received) { handle(received, *this); });
  }

  Listening listening_;
  Incoming incoming_;
  Memory memory_;
  zenoh::KeyExpr key_;
  std::mutex mutex_;
  /// The request that is being handled.
  const Query* query_ = nullptr;
  std::optional<zenoh::Queryable<Handler<Query>>> queryable_;
  std::optional<Channel<Query>> channel_;
};

class Zenoh final : public TransportOf<Peer, TopicPublisher, TopicSubscriber, CallServer, CallClient> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return ZENOH_C; }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    const auto declare = [&](zenoh::Session& session, auto on_drop) {
      auto call = [incoming = Incoming(shared_.arrivals), on_frame = std::move(on_frame)](
                      const Sample& sample) mutable { incoming.pass(sample.get_payload(), on_frame); };
      return session.declare_subscriber(key(link), std::move(call), std::move(on_drop));
    };
    return std::make_unique<Called<zenoh::Subscriber<void>>>(shared_.sessions.session_to(link.address), declare);
  }
  Facts facts() override {
    const auto way = shared_.sessions.reach_others() ? "tcp on " + shared_.device : "within one session";
    return shared_.arrivals.facts(way, shared_.shared_memory.is_expected());
  }
};

}  // namespace

int main(int argc, char** argv) { return run<Zenoh>(argc, argv); }
