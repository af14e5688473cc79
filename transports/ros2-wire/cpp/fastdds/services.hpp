/// Services as rmw_cyclonedds puts them on the wire, not rmw_fastrtps: a topic for the requests and one for the
/// replies, which all clients of a service get.
#pragma once

#include <cstring>
#include <optional>

#include "../../../_fastdds/cpp/ends.hpp"
#include "wire.hpp"

namespace wire::by_fastdds {

inline fast::DataWriterQos service_writer(const fastdds::House& house) {
  return fastdds::of_service(fastdds::writer_qos(house.setup, house.customs));
}
inline fast::DataReaderQos service_reader(const fastdds::House& house) {
  return fastdds::of_service(fastdds::reader_qos(house.setup, house.customs));
}

/// All 16 octets of a writer's identity in 8, as many as the header has.
inline std::uint64_t folded(const rtps::GUID_t& guid) {
  std::uint64_t halves[2];
  std::memcpy(halves, guid.guidPrefix.value, sizeof guid.guidPrefix.value);
  std::memcpy(reinterpret_cast<char*>(halves) + sizeof guid.guidPrefix.value, guid.entityId.value,
              sizeof guid.entityId.value);
  return halves[0] ^ halves[1];
}

template <class Request, class Reply>
class Client final : public hopmeter::Client {
 public:
  Client(fastdds::House& house, fastdds::Participant& participant, const hopmeter::Link& link)
      : requests_(house, participant, request_topic(link.name), service_writer(house)),
        replies_(house, participant, fastdds::place<Reply>(reply_topic(link.name)), service_reader(house)),
        own_(folded(requests_.writer().guid())) {}

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return ask(requests_.filled(payload_bytes, fill));
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* request = received.native<fastdds::Sample<Request>>();
    if (!request) return hopmeter::Client::forward(received);
    // It lies in an inbox of this process, and whose it was has been noted there.
    return ask(const_cast<fastdds::Sample<Request>&>(*request));
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return replies_.next(timeout, [&](auto& reader) { return look(reader, take); });
  }

 private:
  hopmeter::Sent ask(fastdds::Sample<Request>& request) {
    request.client(own_);
    request.number(++number_);
    return requests_.write(&request);
  }

  /// Passes over replies to other clients.
  bool look(fast::DataReader& reader, const hopmeter::Take& take) {
    bool is_ours = false;
    const auto sift = [&](const fastdds::Sample<Reply>& reply) {
      is_ours = reply.client() == own_;
      if (is_ours) fastdds::hand<Reply>(reply, take);
    };
    while (!is_ours && inbox_.take_sample(reader, sift)) continue;
    return is_ours;
  }

  fastdds::Outgoing<Request> requests_;
  fastdds::Polled replies_;
  fastdds::Inbox<Reply> inbox_;
  std::uint64_t own_;
  std::int64_t number_ = 0;
};

/// Answers the request that is being handled.
template <class Request, class Reply>
class Replier final : public hopmeter::Replier {
 public:
  Replier(fastdds::House& house, fastdds::Participant& participant, const hopmeter::Link& link)
      : replies_(house, participant, reply_topic(link.name), service_writer(house)) {}

  void answer(const fastdds::Sample<Request>& request, const auto& handle) {
    client_ = request.client();
    number_ = request.number();
    fastdds::hand<Request>(request, [&](const hopmeter::Received& received) { handle(received, *this); });
  }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    auto& reply = replies_.filled(payload_bytes, fill);
    reply.client(client_);
    reply.number(number_);
    return replies_.write(&reply);
  }

 private:
  fastdds::Outgoing<Reply> replies_;
  std::uint64_t client_ = 0;
  std::int64_t number_ = 0;
};

template <class Request, class Reply>
class Server final : public hopmeter::Server {
 public:
  Server(fastdds::House& house, fastdds::Participant& participant, const hopmeter::Link& link)
      : house_(house),
        participant_(participant),
        requests_(fastdds::place<Request>(request_topic(link.name))),
        replier_(house, participant, link) {
    if (house.setup.wait() != hopmeter::Wait::callback)
      polled_.emplace(house, participant, requests_, service_reader(house));
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    return polled_->next(timeout, [&](auto& reader) { return look(reader, handle); });
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    auto look = [this, on_request = std::move(on_request)](fast::DataReader& reader) {
      return this->look(reader, on_request);
    };
    return fastdds::served(participant_, requests_, service_reader(house_), std::move(look));
  }

 private:
  bool look(fast::DataReader& reader, const auto& handle) {
    return inbox_.take_sample(reader, [&](const auto& request) { replier_.answer(request, handle); });
  }

  fastdds::House& house_;
  fastdds::Participant& participant_;
  fastdds::Place requests_;
  Replier<Request, Reply> replier_;
  fastdds::Inbox<Request> inbox_;
  /// Of a server that is polled.
  std::optional<fastdds::Polled> polled_;
};

}  // namespace wire::by_fastdds
