/// Services: one topic for requests, and one topic for replies that all clients receive. `Dds` is the interface to the
/// DDS library, and selects the format of rmw_cyclonedds or of rmw_fastrtps.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hopmeter/hopmeter.hpp"

namespace wire {

/// The topic names of messages, requests and replies are the same as in ROS 2.
inline std::string message_topic(const std::string& link) { return "rt/hopmeter_" + link; }
inline std::string request_topic(const std::string& link) { return "rq/hopmeter_" + link + "Request"; }
inline std::string reply_topic(const std::string& link) { return "rr/hopmeter_" + link + "Reply"; }

std::string cyclonedds_version();
std::unique_ptr<hopmeter::Transport> open_cyclonedds(const hopmeter::Setup& setup);
std::string fastdds_version();
std::unique_ptr<hopmeter::Transport> open_fastdds(const hopmeter::Setup& setup);

/// The header of each request and reply in the form of rmw_cyclonedds: the client's identity, and the number of the
/// call.
struct Call {
  std::uint64_t client = 0;
  std::int64_t number = 0;
};

/// Lets an optional construct the result of a function in place, without a move.
template <class Make>
struct InPlace {
  operator std::invoke_result_t<const Make&>() const { return make(); }
  const Make& make;
};

template <class Dds, class Request, class Reply>
class Client final : public hopmeter::Client {
 public:
  Client(Dds dds, const hopmeter::Link& link)
      : requests_(dds.template request_writer<Request>(link, request_topic(link.name))),
        replies_(dds.template reader<Reply>(link, reply_topic(link.name))),
        call_(Dds::first_call(requests_, replies_)) {}

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return call(requests_.fill_sample(payload_bytes, fill));
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* request = received.native<typename Dds::template Sample<Request>>();
    return request ? call(*request) : hopmeter::Client::forward(received);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return replies_.poll(timeout, [&](const auto& source) { return look(source, take); });
  }

 private:
  hopmeter::Sent call(const auto& request) { return Dds::send_request(requests_, request, call_); }

  /// Passes the next reply to `take` if the reply belongs to this client, and skips replies to other clients.
  bool look(const auto& source, const hopmeter::Take& take) {
    bool is_ours = false;
    const auto sift = [&](const auto& reply) {
      is_ours = Dds::answers(source, reply, call_);
      if (is_ours) Dds::template hand_over<Reply>(reply, take);
    };
    while (!is_ours && source.take(sift)) continue;
    return is_ours;
  }

  decltype(std::declval<Dds>().template request_writer<Request>(std::declval<hopmeter::Link>(), "")) requests_;
  decltype(std::declval<Dds>().template reader<Reply>(std::declval<hopmeter::Link>(), "")) replies_;
  typename Dds::Call call_;
};

/// Receives requests by polling or callbacks, and answers the current request.
template <class Dds, class Request, class Reply>
class Server final : public hopmeter::Server, public hopmeter::Replier {
 public:
  Server(Dds dds, const hopmeter::Link& link)
      : dds_(dds),
        topic_(request_topic(link.name)),
        replies_(dds.template reply_writer<Reply>(link, reply_topic(link.name))) {
    const auto make_reader = [&] { return dds_.template reader<Request>(link, topic_); };
    if (link.wait != hopmeter::Wait::callback) requests_.emplace(InPlace<decltype(make_reader)>{make_reader});
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    return requests_->poll(timeout, [&](const auto& source) { return look(source, handle); });
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    auto look = [this, on_request = std::move(on_request)](const auto& source) {
      while (this->look(source, on_request)) continue;
      return false;
    };
    return dds_.template serve<Request>(topic_, std::move(look));
  }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return Dds::send_reply(replies_, replies_.fill_sample(payload_bytes, fill), call_);
  }
  hopmeter::Sent forward(const hopmeter::Received& received) override { return Replier::forward(received); }

 private:
  bool look(const auto& source, const auto& handle) {
    return source.take([&](const auto& request) {
      call_ = Dds::call_of(source, request);
      Dds::template hand_over<Request>(request, [&](const hopmeter::Received& received) { handle(received, *this); });
    });
  }

  Dds dds_;
  std::string topic_;
  decltype(std::declval<Dds>().template reply_writer<Reply>(std::declval<hopmeter::Link>(), "")) replies_;
  /// The reader of a polled server.
  std::optional<decltype(std::declval<Dds>().template reader<Request>(std::declval<hopmeter::Link>(), ""))> requests_;
  /// The call that the current request belongs to.
  typename Dds::Call call_;
};

}  // namespace wire
