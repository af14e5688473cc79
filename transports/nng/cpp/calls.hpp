/// Request and reply: REQ and REP.
#pragma once

#include <atomic>
#include <deque>
#include <thread>

#include "reply.hpp"

// They need nng/nng.h before them.
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

/// How long a reply may wait for the one before it to leave. REP forgets whom to answer when it is refused, so a reply
/// cannot be offered again.
inline constexpr int reply_ms = 100;
/// How long a call that has no reply keeps a new one from being started.
inline constexpr std::chrono::seconds longest_call{1};
/// How often a served link's thread looks whether it is over.
inline constexpr std::chrono::milliseconds nap{50};

/// REQ has one call under way. nng would drop it for a new one and with it a reply that is only late, so a new one is
/// busy until the reply has come, or will not come any more.
class Asking final : public hopmeter::Client {
 public:
  Asking(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : socket_(nng_req0_open), reply_(socket_), spins_(setup.wait() == hopmeter::Wait::spin) {
    socket_.connect(link);
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (is_asking_ && !is_over()) return hopmeter::Sent::busy;
    reply_.abandon();
    const auto sent = socket_.send(payload_bytes, fill);
    is_asking_ = sent == hopmeter::Sent::accepted;
    if (is_asking_) started_ = Clock::now();
    return sent;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    auto message = next(timeout);
    if (message) take(hopmeter::Received::split(bytes(message)));
    return message ? 1 : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Whether the call under way has its reply, which is put aside, or has been waited for long enough.
  bool is_over() {
    if (auto reply = look(hopmeter::Timeout::zero())) {
      late_.push_back(std::move(reply));
      return true;
    }
    return Clock::now() - started_ >= longest_call;
  }

  Message next(hopmeter::Timeout timeout) {
    if (!late_.empty()) {
      auto reply = std::move(late_.front());
      late_.pop_front();
      return reply;
    }
    if (is_asking_) {
      auto reply = look(timeout);
      is_asking_ = reply == nullptr;
      return reply;
    }
    // nng takes it for a mistake to receive without a call.
    if (!spins_) std::this_thread::sleep_for(timeout);
    return {};
  }

  Message look(hopmeter::Timeout timeout) {
    return spins_ ? socket_.receive(hopmeter::Timeout::zero()) : reply_.receive(timeout);
  }

  Socket socket_;
  Reply reply_;
  bool spins_;
  bool is_asking_ = false;
  Clock::time_point started_;
  std::deque<Message> late_;
};

class Answering final : public hopmeter::Server, public hopmeter::Replier {
 public:
  Answering(const hopmeter::Setup& setup, const hopmeter::Link& link) : socket_(nng_rep0_open) {
    require(nng_socket_set_ms(*socket_, NNG_OPT_SENDTIMEO, reply_ms), "limiting replies");
    socket_.bind(setup, link);
  }
  std::string address() const override { return socket_.address(); }
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override { return answer(timeout, handle); }
  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override;

  std::size_t answer(hopmeter::Timeout timeout, const auto& handle) {
    const auto message = socket_.receive(timeout);
    if (message) handle(hopmeter::Received::split(bytes(message)), *this);
    return message ? 1 : 0;
  }

  /// A reply that cannot leave in time is lost, as one to a client that is gone is.
  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    socket_.send(payload_bytes, fill, 0);
    return hopmeter::Sent::accepted;
  }

 private:
  Socket socket_;
};

/// A server that is called. nng's callbacks may not wait and a handler may, so they wake a thread of this link.
class Serving final : public hopmeter::Subscription {
 public:
  Serving(Answering& server, hopmeter::OnRequest on_request) : on_request_(std::move(on_request)) {
    thread_ = std::thread([this, &server] {
      while (!is_over_) server.answer(nap, on_request_);
    });
  }
  ~Serving() override {
    is_over_ = true;
    thread_.join();
  }

 private:
  hopmeter::OnRequest on_request_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

inline hopmeter::Owned<hopmeter::Subscription> Answering::serve(hopmeter::OnRequest on_request) {
  return std::make_unique<Serving>(*this, std::move(on_request));
}
