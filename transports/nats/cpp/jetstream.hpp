/// JetStream: publishers whose messages the broker stores in a stream, and receivers that consume the stream.
#pragma once

#include <atomic>
#include <deque>

#include "connection.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/loop_thread.hpp"

namespace hopmeter {

/// The JetStream stream of a link. The link's name is the stream's name and its only subject.
class Stream {
 public:
  Stream(const Connection& connection, const Link& link)
      : name_(link.name), max_pending_(connection.setup().setting<int>("max_pending")) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = options.PublishAsync.StallWait = patience_ms;
    options.PublishAsync.MaxPending = max_pending_;
    options.PublishAsync.ErrHandler = note;
    options.PublishAsync.ErrHandlerClosure = this;
    jsCtx* raw = nullptr;
    demand(natsConnection_JetStream(&raw, connection.raw(), &options), "using JetStream");
    context_.reset(raw);
    create(connection.setup());
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Waits for the outstanding confirmations, but at most `closing_ms`, because the broker may have ended.
  ~Stream() {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = closing_ms;
    if (max_pending_ > 1) js_PublishAsyncComplete(raw(), &options);
  }

  jsCtx* raw() const { return context_.get(); }
  const std::string& name() const { return name_; }

  /// Publishes a frame. If `max_pending` is 1, waits until the broker has confirmed the frame. Otherwise, waits only
  /// while `max_pending` messages are unconfirmed.
  Sent publish(std::span<const std::byte> frame) {
    const auto bytes = static_cast<int>(frame.size());
    if (has_failed_) throw Error("nats-server did not store a message");
    const auto status = max_pending_ > 1
                            ? js_PublishAsync(raw(), name_.c_str(), frame.data(), bytes, nullptr)
                            : js_Publish(nullptr, raw(), name_.c_str(), frame.data(), bytes, nullptr, nullptr);
    require(status, "publishing to a stream of nats-server");
    return Sent::accepted;
  }

  /// Throws an error with the broker's own text, unless `status` is NATS_OK.
  static void require(natsStatus status, const std::string& doing) {
    const char* text = status == NATS_OK ? nullptr : nats_GetLastError(nullptr);
    demand(status, text ? doing + ": " + text : doing);
  }

 private:
  static constexpr std::int64_t patience_ms = 60'000, closing_ms = 5'000;
  /// The size of a stream beyond which the broker deletes the oldest messages.
  static constexpr std::int64_t max_bytes = 1 << 30;

  /// Creates the stream, unless the link's other end has created it.
  void create(const Setup& setup) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char* subject = name_.c_str();
    config.Name = subject;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Storage = setup.setting<std::string>("storage") == "memory" ? js_MemoryStorage : js_FileStorage;
    config.MaxBytes = max_bytes;
    const auto max_length = setup.setting<std::int64_t>("max_length");
    config.MaxMsgs = max_length > 0 ? max_length : -1;
    jsErrCode code{};
    const auto status = js_AddStream(nullptr, raw(), &config, nullptr, &code);
    if (code != JSStreamNameExistErr) require(status, "creating a stream");
  }

  static void note(jsCtx*, jsPubAckErr*, void* self) { static_cast<Stream*>(self)->has_failed_ = true; }

  std::string name_;
  int max_pending_;
  std::atomic<bool> has_failed_ = false;
  Resource<jsCtx, jsCtx_Destroy> context_;
};

class StreamPublisher final : public Publisher {
 public:
  StreamPublisher(const Connection& connection, const Link& link) : stream_(connection, link) {}
  Sent send(std::size_t payload_bytes, Fill fill) override {
    return stream_.publish(draft_.write(payload_bytes, fill));
  }

 private:
  Stream stream_;
  Draft draft_;
};

/// How a receiver gets the messages that are published after it has opened.
class Consumption {
 public:
  explicit Consumption(const Setup& setup) : kind_(setup.setting<std::string>("consumer")) {
    acknowledges_ = is_pull() || (kind_ == "push" && setup.setting<bool>("acknowledge"));
  }

  bool is_pull() const { return kind_ == "pull"; }

  /// Creates a consumer of a stream with `function`, one of the library's functions.
  NatsSubscription open(const Stream& stream, const auto& function, auto... more) const {
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Stream = stream.name().c_str();
    options.ManualAck = true;
    options.Ordered = kind_ == "ordered";
    options.Config.DeliverPolicy = js_DeliverNew;
    if (!acknowledges_ && !options.Ordered) options.Config.AckPolicy = js_AckNone;
    if (is_pull()) options.Config.InactiveThreshold = idle_ns;
    natsSubscription* raw = nullptr;
    Stream::require(function(&raw, stream.raw(), stream.name().c_str(), more..., nullptr, &options, nullptr),
                    "creating a consumer");
    NatsSubscription subscription(raw);
    // As in hopmeter's other NATS adapters, only the number of messages limits the queue.
    demand(natsSubscription_SetPendingLimits(raw, 65536, -1), "raising a subscription's limits");
    return subscription;
  }

  void acknowledge(const Message& message) const {
    if (acknowledges_) demand(natsMsg_Ack(message.get(), nullptr), "acknowledging a message");
  }

 private:
  /// How long the broker keeps the consumer of a receiver that requests no messages.
  static constexpr std::int64_t idle_ns = 3'600'000'000'000;

  std::string kind_;
  bool acknowledges_;
};

/// A polled consumer of a link's stream.
class Consumer final : public Subscriber {
 public:
  Consumer(const Connection& connection, const Link& link)
      : stream_(connection, link),
        consumption_(connection.setup()),
        spins_(link.wait == Wait::spin),
        batch_(connection.setup().setting<int>("batch")) {
    subscription_ = consumption_.is_pull() ? consumption_.open(stream_, js_PullSubscribe, nullptr)
                                           : consumption_.open(stream_, js_SubscribeSync);
  }

  std::size_t poll(Timeout timeout, Take take) override { return receive(timeout, take); }

  /// Passes on the next message, and then acknowledges it. Returns 0 after the timeout.
  std::size_t receive(Timeout timeout, const auto& take) {
    const auto wait_ms = spins_ ? 0 : std::max<std::int64_t>(1, timeout.count() / 1'000'000);
    const auto message = consumption_.is_pull() ? fetch(std::max<std::int64_t>(1, wait_ms)) : next(wait_ms);
    if (!message) return 0;
    take(to_received(message));
    consumption_.acknowledge(message);
    return 1;
  }

 private:
  Message next(std::int64_t wait_ms) const {
    natsMsg* raw = nullptr;
    const auto status = natsSubscription_NextMsg(&raw, subscription_.get(), wait_ms);
    if (status != NATS_TIMEOUT) Stream::require(status, "receiving from a stream");
    return Message(raw);
  }

  /// Returns a message that has been fetched. If there is none, requests a batch and waits for it.
  Message fetch(std::int64_t wait_ms) {
    if (fetched_.empty()) request(wait_ms);
    if (fetched_.empty()) return {};
    auto message = std::move(fetched_.front());
    fetched_.pop_front();
    return message;
  }

  void request(std::int64_t wait_ms) {
    natsMsgList list{};
    const auto status = natsSubscription_Fetch(&list, subscription_.get(), batch_, wait_ms, nullptr);
    if (status == NATS_TIMEOUT) return;
    Stream::require(status, "fetching from a stream");
    for (int index = 0; index < list.Count; ++index) fetched_.emplace_back(std::exchange(list.Msgs[index], nullptr));
    natsMsgList_Destroy(&list);
  }

  Stream stream_;
  Consumption consumption_;
  bool spins_;
  int batch_;
  NatsSubscription subscription_;
  std::deque<Message> fetched_;
};

/// Calls a function for each message: on a thread of the library or, if the receiver requests messages, on a thread
/// that waits for each requested batch.
inline Owned<Subscription> consume(const Connection& connection, const Link& link, OnFrame on_frame) {
  const Consumption consumption(connection.setup());
  if (consumption.is_pull()) {
    auto consumer = std::make_shared<Consumer>(connection, link);
    return std::make_unique<LoopThread>(
        [consumer, on_frame = std::move(on_frame)] { consumer->receive(std::chrono::milliseconds(100), on_frame); });
  }
  auto stream = std::make_shared<Stream>(connection, link);
  auto call = [stream, consumption, on_frame = std::move(on_frame)](const Message& message) {
    on_frame(to_received(message));
    consumption.acknowledge(message);
  };
  const auto open = [&](auto... more) { return consumption.open(*stream, js_Subscribe, more...); };
  return std::make_unique<Called<decltype(call)>>(connection, open, std::move(call));
}

}  // namespace hopmeter
