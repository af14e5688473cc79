/// Services as rmw_cyclonedds puts them on the wire: a topic for the requests and one for the replies, which all
/// clients of a service get.
#pragma once

#include <optional>

#include "../../../_cyclonedds/cpp/ends.hpp"
#include "wire.hpp"

namespace wire::by_cyclonedds {

template <class Request, class Reply>
class Client final : public hopmeter::Client {
 public:
  Client(cyclone::House& house, const hopmeter::Link& link)
      : outgoing_(house.setup),
        inbox_(house),
        requests_(house.topic(Request::type, request_topic(link.name))),
        replies_(house.topic(Reply::type, reply_topic(link.name))),
        writer_(house.writer(*requests_, link, cyclone::request_qos(house.setup))),
        reader_(house.reader(*replies_, link, cyclone::service_qos(house.setup))),
        arrivals_(house, *reader_) {
    cyclone::demand(dds_get_instance_handle(*writer_, &own_), "tell a writer's handle");
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return ask(outgoing_.filled(payload_bytes, fill));
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* request = received.native<typename Request::Sample>();
    return request ? ask(*request) : hopmeter::Client::forward(received);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return arrivals_.next(timeout, [&] { return look(take); });
  }

 private:
  /// Only the outermost fields are copied.
  hopmeter::Sent ask(typename Request::Sample request) {
    request.client = own_;
    request.number = ++number_;
    return cyclone::written(*writer_, &request);
  }

  /// Passes over replies to other clients.
  bool look(const hopmeter::Take& take) {
    bool is_ours = false;
    const auto sift = [&](const typename Reply::Sample& reply) {
      is_ours = reply.client == own_;
      if (is_ours) cyclone::hand<Reply>(reply, take);
    };
    while (!is_ours && inbox_.take_sample(*reader_, sift)) continue;
    return is_ours;
  }

  cyclone::Outgoing<Request> outgoing_;
  cyclone::Inbox<Reply> inbox_;
  cyclone::Entity requests_, replies_, writer_, reader_;
  cyclone::Arrivals arrivals_;
  dds_instance_handle_t own_ = 0;
  std::int64_t number_ = 0;
};

/// Answers the request that is being handled.
template <class Request, class Reply>
class Replier final : public hopmeter::Replier {
 public:
  Replier(cyclone::House& house, const hopmeter::Link& link)
      : outgoing_(house.setup),
        replies_(house.topic(Reply::type, reply_topic(link.name))),
        writer_(house.writer(*replies_, link, cyclone::service_qos(house.setup))) {}

  void answer(const typename Request::Sample& request, const auto& handle) {
    client_ = request.client;
    number_ = request.number;
    cyclone::hand<Request>(request, [&](const hopmeter::Received& received) { handle(received, *this); });
  }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    auto reply = outgoing_.filled(payload_bytes, fill);
    reply.client = client_;
    reply.number = number_;
    return cyclone::written(*writer_, &reply);
  }

 private:
  cyclone::Outgoing<Reply> outgoing_;
  cyclone::Entity replies_, writer_;
  std::uint64_t client_ = 0;
  std::int64_t number_ = 0;
};

/// Entered by the thread that delivers from a queue, or within the process by the client's.
template <class Request, class Reply>
class Serving final : public hopmeter::Subscription {
 public:
  Serving(cyclone::House& house, const hopmeter::Link& link, dds_entity_t requests, Replier<Request, Reply>& replier,
          hopmeter::OnRequest on_request)
      : on_request_(std::move(on_request)),
        replier_(replier),
        inbox_(house),
        reader_(house.reader(requests, link, cyclone::service_qos(house.setup), cyclone::calling(this).get())) {}
  /// Waits until no call is under way.
  ~Serving() override { dds_set_listener(*reader_, nullptr); }

  void arrived(dds_entity_t reader) {
    while (inbox_.take_sample(reader, [&](const auto& request) { replier_.answer(request, on_request_); })) continue;
  }

 private:
  hopmeter::OnRequest on_request_;
  Replier<Request, Reply>& replier_;
  cyclone::Inbox<Request> inbox_;
  cyclone::Entity reader_;
};

template <class Request, class Reply>
class Server final : public hopmeter::Server {
 public:
  Server(cyclone::House& house, const hopmeter::Link& link)
      : house_(house),
        link_(link),
        replier_(house, link),
        inbox_(house),
        requests_(house.topic(Request::type, request_topic(link.name))) {
    if (house.setup.wait() == hopmeter::Wait::callback) return;
    reader_.emplace(house.reader(*requests_, link, cyclone::service_qos(house.setup)));
    arrivals_.emplace(house, **reader_);
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    const auto answer = [&](const auto& request) { replier_.answer(request, handle); };
    return arrivals_->next(timeout, [&] { return inbox_.take_sample(**reader_, answer); });
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    return std::make_unique<Serving<Request, Reply>>(house_, link_, *requests_, replier_, std::move(on_request));
  }

 private:
  cyclone::House& house_;
  hopmeter::Link link_;
  Replier<Request, Reply> replier_;
  cyclone::Inbox<Request> inbox_;
  cyclone::Entity requests_;
  /// Of a server that is polled.
  std::optional<cyclone::Entity> reader_;
  std::optional<cyclone::Arrivals> arrivals_;
};

}  // namespace wire::by_cyclonedds
