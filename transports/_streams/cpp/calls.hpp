/// Calls: requests and replies on one connection per client, as in a program without a middleware.
#pragma once

#include <poll.h>

#include <vector>

#include "sending_half.hpp"
#include "subscriber.hpp"

namespace streams {

/// How long a link end that has unsent bytes waits at most.
inline constexpr std::chrono::milliseconds catch_up_interval{1};

inline hopmeter::Timeout limit_while_behind(bool caught_up, hopmeter::Timeout timeout) {
  return caught_up ? timeout : std::min<hopmeter::Timeout>(timeout, catch_up_interval);
}

/// The two halves of a connection, at the client or at the server.
struct Connection {
  Connection(Socket connection, bool blocks, std::size_t frame_bytes)
      : out(sending_half(connection), frame_bytes), in(std::move(connection), blocks, frame_bytes) {}

  SendingHalf out;
  StreamSubscriber in;

 private:
  static Socket sending_half(const Socket& connection) {
    connection.set_timeout(SO_SNDTIMEO, patience, "SO_SNDTIMEO");
    return connection.duplicate();
  }
};

class StreamClient final : public hopmeter::Client {
 public:
  StreamClient(Socket connection, bool blocks, std::size_t frame_bytes)
      : connection_(std::move(connection), blocks, frame_bytes) {}

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return connection_.out.reply(payload_bytes, fill);
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override { return connection_.out.forward(received); }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return connection_.in.poll(limit_while_behind(connection_.out.catch_up(), timeout), take);
  }

 private:
  Connection connection_;
};

/// The server of an rpc link. With one client, the server waits in the client's `recv`; with several clients, in
/// `poll`.
class StreamServer final : public hopmeter::Server {
 public:
  StreamServer(const Family& family, const hopmeter::Link& link, bool blocks)
      : family_(family), endpoint_(family.listen(link)), blocks_(blocks), frame_bytes_(link.frame_bytes) {
    endpoint_.listener.make_nonblocking();
  }
  ~StreamServer() override { family_.remove_endpoint(endpoint_.address); }

  std::string address() const override { return endpoint_.address; }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    timeout = limit_while_behind(
        std::ranges::all_of(connections_, [](Connection& connection) { return connection.out.catch_up(); }), timeout);
    const auto in_recv = connections_.size() == 1 ? timeout : hopmeter::Timeout::zero();
    if (blocks_ && in_recv != timeout) sleep(timeout);
    const auto requests = handle_all(in_recv, handle);
    // A server that waits in `recv` accepts new clients only here: after each empty poll, and at intervals.
    if ((blocks_ && requests == 0) || connections_.empty() || ++polls_ % polls_per_look == 0) accept_all();
    return requests;
  }

 private:
  /// A busy server accepts new clients only once in this many polls.
  static constexpr unsigned polls_per_look = 256;

  std::size_t handle_all(hopmeter::Timeout timeout, hopmeter::Handle handle) {
    std::size_t requests = 0;
    for (auto& connection : connections_) {
      auto take = [&](const hopmeter::Received& request) { handle(request, connection.out); };
      requests += connection.in.receive_some(timeout, take);
    }
    std::erase_if(connections_, [](const Connection& connection) { return connection.in.is_gone(); });
    return requests;
  }

  /// Sleeps until a request arrives, a new client connects, or the timeout passes.
  void sleep(hopmeter::Timeout timeout) const {
    std::vector<pollfd> events{{*endpoint_.listener, POLLIN, 0}};
    for (const auto& connection : connections_) events.push_back({*connection.in.socket(), POLLIN, 0});
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    if (::poll(events.data(), events.size(), static_cast<int>(ms)) < 0 && errno != EINTR) {
      throw Error::system("waiting for requests");
    }
  }

  void accept_all() {
    while (auto connection = family_.accept(endpoint_.listener)) {
      connections_.emplace_back(std::move(*connection), blocks_, frame_bytes_);
    }
  }

  const Family& family_;
  Endpoint endpoint_;
  bool blocks_;
  std::size_t frame_bytes_;
  std::vector<Connection> connections_;
  unsigned polls_ = 0;
};

}  // namespace streams
