/// A transport over Fast DDS, parameterized by its message types.
#pragma once

#include "ends.hpp"

namespace fastdds {

/// The adapter for one message type. All polled ends and all writers share one participant.
template <class Message>
class DdsTransport : public hopmeter::Transport {
 public:
  DdsTransport(const hopmeter::Setup& setup, const Options& options)
      : session_(setup, options), participant_(session_) {}

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return std::make_unique<LinkPublisher>(session_, participant_, Message::topic(link.name),
                                           writer_qos(session_.setup, session_.options));
  }
  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return std::make_unique<LinkSubscriber>(session_, participant_, Message::topic(link.name),
                                            reader_qos(session_.setup, session_.options));
  }
  hopmeter::Owned<hopmeter::Subscription> subscribe(const hopmeter::Link& link, hopmeter::OnFrame on_frame) override {
    auto look = [on_frame = std::move(on_frame)](const Source<Message>& source) {
      return source.take([&](const auto& sample) { hopmeter::hand_over<Message>(sample, on_frame); });
    };
    const auto qos = reader_qos(session_.setup, session_.options);
    const auto topic = Message::topic(link.name);
    if (link.name.ends_with("_request"))
      return std::make_unique<ServingReader<Message, decltype(look)>>(participant_, topic, qos, std::move(look));
    return std::make_unique<CalledReader<Message, decltype(look)>>(session_, topic, qos, std::move(look));
  }
  hopmeter::Facts facts() override {
    auto facts = session_.discovery.facts();
    facts.emplace_back("loan", Plain<Message> ? "in the writer's history" : "none, samples are serialised");
    return facts;
  }

 protected:
  Session session_;
  Participant participant_;

 private:
  struct LinkPublisher final : hopmeter::Publisher {
    explicit LinkPublisher(auto&&... arguments) : writer(arguments...) {}
    hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
      return writer.send(payload_bytes, fill);
    }
    hopmeter::Sent forward(const hopmeter::Received& received) override {
      return writer.write(received.require_native<Sample<Message>>("Fast DDS"));
    }
    Writer<Message> writer;
  };

  struct LinkSubscriber final : hopmeter::Subscriber {
    explicit LinkSubscriber(auto&&... arguments) : reader(arguments...) {}
    std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
      const auto use = [&](const auto& sample) { hopmeter::hand_over<Message>(sample, take); };
      return reader.poll(timeout, [&](const auto& source) { return source.take(use); });
    }
    PolledReader<Message> reader;
  };
};

}  // namespace fastdds
