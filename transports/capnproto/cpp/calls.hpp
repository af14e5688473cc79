/// Calls: a client calls the capability that its server offers.
#pragma once

#include <map>

#include "hopmeter/callback_slot.hpp"
#include "hopmeter/mailbox.hpp"
#include "network.hpp"

/// The initial capacity of a mailbox in requests or replies.
constexpr std::size_t usual_calls = 64;

using Replies = hopmeter::Mailbox<std::vector<std::byte>>;

/// A client on the event loop.
class ClientState final : kj::TaskSet::ErrorHandler {
 public:
  ClientState(EventLoop& loop, const hopmeter::Setup& setup, const hopmeter::Link& link, Replies* replies)
      : replies_(*replies), remote_(loop, setup, link), calls_(*this) {}

  kj::Promise<void> connect() {
    return remote_.connect([this](capnp::Capability::Client offered) { service_ = offered.castAs<Service>(); });
  }

  void call(std::span<const std::byte> frame) {
    auto request = service_.callRequest();
    request.setRequest(data_of(frame));
    calls_.add(request.send().then([this](auto&& reply) { replies_.push(copy_of(reply.getReply())); }));
  }

 private:
  /// A call that fails because its server has disconnected counts as unanswered.
  void taskFailed(kj::Exception&&) override {}

  Replies& replies_;
  Remote remote_;
  Service::Client service_ = nullptr;
  kj::TaskSet calls_;
};

/// A client. It has its own event loop, because a server's callback may wait for the reply.
class CallClient final : public hopmeter::Client {
 public:
  CallClient(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : state_(std::make_shared<EventLoop>(), setup, link, &replies_) {
    state_.loop().wait_for([this] { return state_->connect(); });
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    std::vector<std::byte> request(hopmeter::header_bytes + payload_bytes);
    fill(request);
    state_.loop().call([&state = *state_, request = kj::mv(request)] { state.call(request); });
    return hopmeter::Sent::accepted;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto reply = replies_.pop(timeout);
    if (reply.empty()) return 0;
    take(hopmeter::Received::split(reply));
    return 1;
  }

 private:
  Replies replies_{usual_calls};
  Hosted<ClientState> state_;
};

/// A request for the endpoint's thread. The event loop finds the call by its number.
struct PendingRequest {
  std::uint64_t number = 0;
  std::vector<std::byte> frame;
};
using Requests = hopmeter::Mailbox<PendingRequest>;
using RequestSlot = std::shared_ptr<hopmeter::CallbackSlot<hopmeter::OnRequest>>;
using CallContext = capnp::CallContext<Service::CallParams, Service::CallResults>;

/// Lets a callback write the reply into the message that is sent.
class InlineReplier final : public hopmeter::Replier {
 public:
  explicit InlineReplier(CallContext& call) : call_(call) {}
  bool has_reply() const noexcept { return has_reply_; }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    has_reply_ = true;
    auto reply = call_.getResults().initReply(static_cast<kj::uint>(hopmeter::header_bytes + payload_bytes));
    fill(std::as_writable_bytes(std::span(reply.begin(), reply.end())));
    return hopmeter::Sent::accepted;
  }

 private:
  CallContext& call_;
  bool has_reply_ = false;
};

/// A server on the event loop.
class ServerState {
 public:
  ServerState(EventLoop& loop, const hopmeter::Setup& setup, const hopmeter::Link& link, const RequestSlot& slot,
              Requests* requests)
      : is_called_(link.wait == hopmeter::Wait::callback),
        slot_(slot),
        requests_(*requests),
        listener_(loop, setup, link, kj::heap<Offer>(*this)) {}

  std::string address() const { return listener_.address(); }

  void reply(std::uint64_t number, std::span<const std::byte> frame) {
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    found->second.call.getResults().setReply(data_of(frame));
    found->second.is_answered->fulfill();
    pending_.erase(found);
  }

 private:
  struct Pending {
    CallContext call;
    kj::Own<kj::PromiseFulfiller<void>> is_answered;
  };

  class Offer final : public Service::Server {
   public:
    explicit Offer(ServerState& state) : state_(state) {}
    kj::Promise<void> call(CallContext call) override {
      return state_.is_called_ ? state_.call_back(call) : state_.queue(kj::mv(call));
    }

   private:
    ServerState& state_;
  };

  kj::Promise<void> call_back(CallContext& call) {
    InlineReplier replier(call);
    const auto request = hopmeter::Received::split(bytes_of(call.getParams().getRequest()));
    slot_->call([&](const auto& on_request) { on_request(request, replier); });
    if (!replier.has_reply()) return KJ_EXCEPTION(FAILED, "not answered");
    return kj::READY_NOW;
  }

  kj::Promise<void> queue(CallContext call) {
    PendingRequest request{next_++, copy_of(call.getParams().getRequest())};
    call.releaseParams();
    auto answer = kj::newPromiseAndFulfiller<void>();
    pending_.emplace(request.number, Pending{kj::mv(call), kj::mv(answer.fulfiller)});
    requests_.push(std::move(request));
    return kj::mv(answer.promise);
  }

  bool is_called_;
  RequestSlot slot_;
  Requests& requests_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Pending> pending_;
  Listener listener_;
};

/// A server. It has its own event loop, because its callback may wait for another server.
class CallServer final : public hopmeter::Server {
 public:
  CallServer(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : state_(std::make_shared<EventLoop>(), setup, link, slot_, &requests_), address_(state_->address()) {}

  std::string address() const override { return address_; }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    const auto request = requests_.pop(timeout);
    if (request.number == 0) return 0;
    QueuedReplier replier(state_, request.number);
    handle(hopmeter::Received::split(request.frame), replier);
    return 1;
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    return std::make_unique<hopmeter::SlotSubscription<hopmeter::OnRequest>>(slot_, std::move(on_request));
  }

 private:
  class QueuedReplier final : public hopmeter::Replier {
   public:
    QueuedReplier(const Hosted<ServerState>& state, std::uint64_t number) : state_(state), number_(number) {}
    hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
      std::vector<std::byte> frame(hopmeter::header_bytes + payload_bytes);
      fill(frame);
      state_.loop().call([&state = *state_, number = number_, frame = kj::mv(frame)] { state.reply(number, frame); });
      return hopmeter::Sent::accepted;
    }

   private:
    const Hosted<ServerState>& state_;
    std::uint64_t number_;
  };

  RequestSlot slot_ = std::make_shared<hopmeter::CallbackSlot<hopmeter::OnRequest>>();
  Requests requests_{usual_calls};
  Hosted<ServerState> state_;
  std::string address_;
};
