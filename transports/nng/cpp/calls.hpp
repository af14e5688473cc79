/// The client and the server of an rpc link, with nng's protocols REQ and REP.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "hopmeter/loop_thread.hpp"
#include "socket.hpp"

// These headers must be included after nng/nng.h.
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

/// How long a reply may wait for the previous reply. If REP refuses a reply, REP also forgets the client, so the reply
/// cannot be sent later.
inline constexpr int reply_ms = 100;
/// How long an unanswered call prevents a new call.
inline constexpr std::chrono::seconds longest_call{1};
/// How often the thread of a callback server checks whether the server must stop.
inline constexpr std::chrono::milliseconds nap{50};

/// A receive operation that stays pending from one poll to the next. The receive has no timeout, because REQ would end
/// the whole call after a timeout. Each poll waits with its own timeout.
class PendingReply {
 public:
  explicit PendingReply(const Socket& socket) : socket_(*socket), aio_(make_aio(this)) {}
  ~PendingReply() { cancel(); }

  /// Returns the reply, or null if no reply arrives within `timeout`.
  Message receive(hopmeter::Timeout timeout) {
    if (!std::exchange(is_pending_, true)) nng_recv_aio(socket_, aio_.get());
    std::unique_lock lock(mutex_);
    if (!finished_.wait_for(lock, timeout, [&] { return is_finished_; })) return {};
    is_pending_ = is_finished_ = false;
    demand(nng_aio_result(aio_.get()), "receiving with nng");
    return Message(nng_aio_get_msg(aio_.get()));
  }

  /// Cancels a pending receive, and drops a message that arrived anyway.
  void cancel() noexcept {
    if (!is_pending_) return;
    nng_aio_cancel(aio_.get());
    nng_aio_wait(aio_.get());
    if (nng_aio_result(aio_.get()) == 0) Message(nng_aio_get_msg(aio_.get())).reset();
    is_pending_ = is_finished_ = false;
  }

  /// nng calls this function on its own threads.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      is_finished_ = true;
    }
    finished_.notify_one();
  }

 private:
  nng_socket socket_;
  Aio aio_;
  bool is_pending_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
};

/// The client of an rpc link. REQ supports only one call at a time, because a new call would make nng drop the current
/// one. A new call is therefore busy until the current reply has arrived or the current call has timed out.
class Requester final : public hopmeter::Client {
 public:
  explicit Requester(const hopmeter::Link& link)
      : socket_(nng_req0_open, link), reply_(socket_), spins_(link.wait == hopmeter::Wait::spin) {
    socket_.connect(link);
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (is_calling_ && !is_call_over()) return hopmeter::Sent::busy;
    reply_.cancel();
    const auto sent = socket_.send(payload_bytes, fill);
    is_calling_ = sent == hopmeter::Sent::accepted;
    if (is_calling_) start_ = Clock::now();
    return sent;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    if (!late_.empty()) {
      const auto reply = std::move(late_.front());
      late_.pop_front();
      return hand_over(reply, take);
    }
    if (is_calling_) {
      const auto reply = look(timeout);
      is_calling_ = reply == nullptr;
      return hand_over(reply, take);
    }
    // nng reports an error if a receive starts without a current call.
    if (!spins_) std::this_thread::sleep_for(timeout);
    return 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Whether the current call is over: its reply is stored for a later poll, or the call has timed out.
  bool is_call_over() {
    auto reply = look(hopmeter::Timeout::zero());
    if (!reply) return Clock::now() - start_ >= longest_call;
    late_.push_back(std::move(reply));
    return true;
  }

  Message look(hopmeter::Timeout timeout) {
    return spins_ ? socket_.receive(hopmeter::Timeout::zero()) : reply_.receive(timeout);
  }

  Socket socket_;
  PendingReply reply_;
  bool spins_;
  bool is_calling_ = false;
  Clock::time_point start_;
  std::deque<Message> late_;
};

class Responder final : public hopmeter::Server, public hopmeter::Replier {
 public:
  Responder(const hopmeter::Setup& setup, const hopmeter::Link& link) : socket_(nng_rep0_open, link) {
    demand(nng_socket_set_ms(*socket_, NNG_OPT_SENDTIMEO, reply_ms), "limiting replies");
    socket_.bind(setup, link);
  }
  std::string address() const override { return socket_.address(); }
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override { return answer(timeout, handle); }

  /// A separate thread per link calls the handler, because a handler may wait, but nng's callbacks must not.
  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    return std::make_unique<hopmeter::LoopThread>(
        [this, on_request = std::move(on_request)] { answer(nap, on_request); });
  }

  /// A reply that cannot be sent in time is lost, like a reply to a disconnected client.
  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    socket_.send(payload_bytes, fill, 0);
    return hopmeter::Sent::accepted;
  }

 private:
  std::size_t answer(hopmeter::Timeout timeout, const auto& handle) {
    return hand_over(socket_.receive(timeout), handle, *this);
  }

  Socket socket_;
};
