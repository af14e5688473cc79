/// A transport over Fast DDS, for any message types.
#pragma once

#include "ends.hpp"

namespace fastdds {

template <class Message>
struct LinkPublisher final : hopmeter::Publisher {
  LinkPublisher(Session& session, Participant& participant, const hopmeter::Link& link)
      : writer(participant, link, Message::topic(link.name), writer_qos(session.setup, session.options)) {}
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return writer.send(payload_bytes, fill);
  }
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    return writer.write(received.require_native<Sample<Message>>("Fast DDS"));
  }
  Writer<Message> writer;
};

template <class Message>
struct LinkSubscriber final : hopmeter::Subscriber {
  LinkSubscriber(Session& session, Participant& participant, const hopmeter::Link& link)
      : reader(participant, link, Message::topic(link.name), reader_qos(session.setup, session.options)) {}
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto use = [&](const auto& sample) { hopmeter::hand_over<Message>(sample, take); };
    return reader.poll(timeout, [&](const auto& source) { return source.take(use); });
  }
  PolledReader<Message> reader;
};

/// The adapter for the given message types, `hopmeter::MessageTypes`. All polled ends and all writers share one
/// participant.
template <class Types>
class DdsTransport : public hopmeter::Transport {
 public:
  DdsTransport(const hopmeter::Setup& setup, const Options& options)
      : session_(setup, options), participant_(session_) {}

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return open<hopmeter::Publisher, LinkPublisher>(link);
  }
  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return open<hopmeter::Subscriber, LinkSubscriber>(link);
  }
  hopmeter::Owned<hopmeter::Subscription> subscribe(const hopmeter::Link& link, hopmeter::OnFrame on_frame) override {
    return Types::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return subscription<Message>(link, std::move(on_frame));
    });
  }
  hopmeter::Facts facts() override { return session_.discovery.facts(); }

 protected:
  Session session_;
  Participant participant_;

 private:
  template <class End, template <class> class Of>
  hopmeter::Owned<End> open(const hopmeter::Link& link) {
    return Types::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return hopmeter::Owned<End>(std::make_unique<Of<Message>>(session_, participant_, link));
    });
  }

  template <class Message>
  hopmeter::Owned<hopmeter::Subscription> subscription(const hopmeter::Link& link, hopmeter::OnFrame on_frame) {
    auto look = [on_frame = std::move(on_frame)](const Source<Message>& source) {
      return source.take([&](const auto& sample) { hopmeter::hand_over<Message>(sample, on_frame); });
    };
    const auto qos = reader_qos(session_.setup, session_.options);
    const auto topic = Message::topic(link.name);
    if (link.name.ends_with("_request"))
      return std::make_unique<ServingReader<Message, decltype(look)>>(participant_, topic, qos, std::move(look));
    return std::make_unique<CalledReader<Message, decltype(look)>>(session_, topic, qos, std::move(look));
  }
};

}  // namespace fastdds
