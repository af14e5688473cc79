/// Calls: requests and their replies on one connection for each client, as a program without a middleware has them.
#pragma once

#include <poll.h>

#include <vector>

#include "line.hpp"
#include "receiver.hpp"

namespace streams {

/// How long an end waits that has something left to send.
inline constexpr std::chrono::milliseconds soon{1};

inline hopmeter::Timeout until_caught_up(bool caught_up, hopmeter::Timeout timeout) {
  return caught_up ? timeout : std::min<hopmeter::Timeout>(timeout, soon);
}

/// Both halves of a connection: a client's own, or a client as its server sees it.
struct Caller {
  Caller(Socket connection, bool blocks, std::size_t frame_bytes)
      : out(sending(connection), frame_bytes), in(std::move(connection), blocks, frame_bytes) {}

  Line out;
  Receiver in;

 private:
  static Socket sending(const Socket& connection) {
    connection.set_timeout(SO_SNDTIMEO, patience, "SO_SNDTIMEO");
    return connection.twin();
  }
};

/// The asking end.
class Asking final : public hopmeter::Client {
 public:
  Asking(Socket connection, bool blocks, std::size_t frame_bytes)
      : caller_(std::move(connection), blocks, frame_bytes) {}

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return caller_.out.reply(payload_bytes, fill);
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override { return caller_.out.forward(received); }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return caller_.in.poll(until_caught_up(caller_.out.catch_up(), timeout), take);
  }

 private:
  Caller caller_;
};

/// The answering end. One client is waited for in its `recv`, several by `poll`.
class Answering final : public hopmeter::Server {
 public:
  Answering(const Family& family, const hopmeter::Link& link, bool blocks, std::size_t frame_bytes)
      : family_(family), endpoint_(family.listen(link)), blocks_(blocks), frame_bytes_(frame_bytes) {
    endpoint_.listener.make_nonblocking();
  }
  ~Answering() override { family_.removed(endpoint_.address); }

  std::string address() const override { return endpoint_.address; }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    timeout =
        until_caught_up(std::ranges::all_of(callers_, [](Caller& caller) { return caller.out.catch_up(); }), timeout);
    const auto in_recv = callers_.size() == 1 ? timeout : hopmeter::Timeout::zero();
    if (blocks_ && in_recv != timeout) sleep(timeout);
    const auto requests = answer_all(in_recv, handle);
    // A server that waits in `recv` hears of new clients only here: whenever nothing came, and now and then.
    if ((blocks_ && requests == 0) || callers_.empty() || ++polls_ % polls_per_look == 0) admit_all();
    return requests;
  }

 private:
  /// How often a server that is kept busy looks for new clients: once in so many polls.
  static constexpr unsigned polls_per_look = 256;

  std::size_t answer_all(hopmeter::Timeout timeout, hopmeter::Handle handle) {
    std::size_t requests = 0;
    for (auto& caller : callers_) {
      auto take = [&](const hopmeter::Received& request) { handle(request, caller.out); };
      requests += caller.in.receive_some(timeout, take);
    }
    std::erase_if(callers_, [](const Caller& caller) { return caller.in.is_gone(); });
    return requests;
  }

  /// Until a client says something, a new one comes, or the time is up.
  void sleep(hopmeter::Timeout timeout) const {
    std::vector<pollfd> places{{*endpoint_.listener, POLLIN, 0}};
    for (const auto& caller : callers_) places.push_back({*caller.in.connection(), POLLIN, 0});
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    if (::poll(places.data(), places.size(), static_cast<int>(ms)) < 0 && errno != EINTR) {
      throw Error::system("waiting for requests");
    }
  }

  void admit_all() {
    while (auto connection = accept_on(endpoint_.listener)) {
      family_.accepted(*connection);
      callers_.emplace_back(std::move(*connection), blocks_, frame_bytes_);
    }
  }

  const Family& family_;
  Endpoint endpoint_;
  bool blocks_;
  std::size_t frame_bytes_;
  std::vector<Caller> callers_;
  unsigned polls_ = 0;
};

}  // namespace streams
