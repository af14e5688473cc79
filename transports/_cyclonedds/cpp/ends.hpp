/// Writers and readers of links. A transport describes each of its message types by a layout (hopmeter/message.hpp).
/// The layout also names the topic and the type that idlc generated:
///
///   using Sample = message_Image;
///   static constexpr const dds_topic_descriptor_t& type = message_Image_desc;
///   static std::string topic(const std::string& link);
#pragma once

#include <dds/version.h>

#include "hopmeter/message.hpp"
#include "participant.hpp"

namespace cyclone {

inline std::string version() { return "Cyclone DDS " DDS_VERSION; }

/// Sets the fields that are constant in all images: three bytes per pixel.
void set_shape(auto& picture, const hopmeter::Link& link) {
  static char rgb8[] = "rgb8";
  picture.encoding = rgb8;
  picture.height = link.height;
  picture.width = link.width;
  picture.step = 3 * link.width;
}

/// Writes samples, reusing one sample for all messages.
template <class Message>
class Writer {
 public:
  using Sample = typename Message::Sample;

  Writer(Participant& participant, const hopmeter::Link& link, const std::string& topic, const Qos& qos)
      : topic_(participant.topic(Message::type, topic)),
        writer_(demand(dds_create_writer(*participant, *topic_, qos.get(), nullptr), "create a writer of " + topic)) {
    Message::shape(sample_, link);
    Message::text(sample_) = text_;
  }
  Writer(const Writer&) = delete;

  /// Lets `fill` write a frame into the sample.
  Sample& fill_sample(std::size_t payload_bytes, hopmeter::Fill fill) {
    if constexpr (hopmeter::HasPayload<Message, Sample>) {
      if (payload_.size() < payload_bytes) payload_.resize(payload_bytes);
      auto& octets = Message::octets(sample_);
      octets._buffer = reinterpret_cast<std::uint8_t*>(payload_.data());
      octets._length = octets._maximum = static_cast<std::uint32_t>(payload_bytes);
      hopmeter::write_message<Message>(sample_, std::span(payload_).first(payload_bytes), fill);
    } else {
      hopmeter::write_message<Message>(sample_, payload_bytes, fill);
    }
    return sample_;
  }

  /// Writes a sample, or returns `busy` if writing would block.
  hopmeter::Sent write(const Sample& sample) {
    const auto code = dds_write(*writer_, &sample);
    if (code == DDS_RETCODE_TIMEOUT) return hopmeter::Sent::busy;
    demand(code, "write a sample");
    return hopmeter::Sent::accepted;
  }

  /// The handle that identifies the writer in its domain.
  dds_instance_handle_t id() const {
    dds_instance_handle_t id = 0;
    demand(dds_get_instance_handle(*writer_, &id), "get a writer's handle");
    return id;
  }

 private:
  Entity topic_, writer_;
  Sample sample_{};
  char text_[hopmeter::label_bytes + 1]{};
  std::vector<std::byte> payload_;
};

/// Passes a sample on as a frame.
template <class Message>
void hand_over(const typename Message::Sample& sample, const auto& take) {
  std::span<const std::byte> payload;
  if constexpr (hopmeter::HasPayload<Message, typename Message::Sample>) {
    const auto& octets = Message::octets(sample);
    payload = std::as_bytes(std::span(octets._buffer, octets._length));
  }
  hopmeter::hand_over<Message>(sample, payload, take, &sample);
}

/// Takes samples from a reader into memory that is reused. A loaned sample would be freed when the loan is returned,
/// and allocated again for the next sample.
template <class Message>
class Inbox {
 public:
  explicit Inbox(Participant& participant) : participant_(participant) {}
  Inbox(const Inbox&) = delete;
  ~Inbox() { dds_sample_free(&sample_, &Message::type, DDS_FREE_CONTENTS); }

  /// Passes the next sample to `use`, if there is one. Returns whether there was a sample.
  bool take(dds_entity_t reader, const auto& use) {
    dds_sample_info_t info;
    void* into = &sample_;
    while (demand(dds_take(reader, &into, &info, 1, 1), "take a sample") > 0) {
      if (!info.valid_data) continue;
      use(std::as_const(sample_));
      if (std::exchange(writer_, info.publication_handle) != info.publication_handle)
        participant_.record_path(reader, info.publication_handle);
      return true;
    }
    return false;
  }

 private:
  Participant& participant_;
  typename Message::Sample sample_{};
  /// The writer of the last sample that was taken.
  dds_instance_handle_t writer_ = 0;
};

/// A reader, and the memory for its samples.
template <class Message>
struct Source {
  bool take(const auto& use) const { return inbox.take(reader, use); }

  dds_entity_t reader;
  Inbox<Message>& inbox;
};

inline Entity make_reader(Participant& participant, dds_entity_t topic, const Qos& qos,
                          const dds_listener_t* listener = nullptr) {
  return Entity(demand(dds_create_reader(*participant, topic, qos.get(), listener), "create a reader"));
}

template <class Message>
class PolledReader {
 public:
  PolledReader(Participant& participant, const hopmeter::Link& link, const std::string& topic, const Qos& qos)
      : spins_(link.wait == hopmeter::Wait::spin),
        inbox_(participant),
        topic_(participant.topic(Message::type, topic)),
        reader_(make_reader(participant, *topic_, qos)),
        waitset_(demand(dds_create_waitset(*participant), "create a waitset")) {
    demand(dds_set_status_mask(*reader_, DDS_DATA_AVAILABLE_STATUS), "watch for samples");
    demand(dds_waitset_attach(*waitset_, *reader_, 0), "watch for samples");
  }

  /// Calls `look(source)`. If `look` finds no sample and this end blocks, waits for an arrival and calls `look` again.
  std::size_t poll(hopmeter::Timeout timeout, const auto& look) {
    const Source<Message> source{*reader_, inbox_};
    if (look(source)) return 1;
    if (spins_) return 0;
    demand(dds_waitset_wait(*waitset_, nullptr, 0, timeout.count()), "wait for samples");
    return look(source);
  }

 private:
  bool spins_;
  Inbox<Message> inbox_;
  Entity topic_, reader_, waitset_;
};

/// A reader that calls `look(source)` once per sample, one call at a time. The call runs on the receiving thread or,
/// within one process, on the writing thread.
template <class Message, class Look>
class CalledReader final : public hopmeter::Subscription {
 public:
  CalledReader(Participant& participant, const std::string& topic, const Qos& qos, Look look)
      : look_(std::move(look)),
        inbox_(participant),
        topic_(participant.topic(Message::type, topic)),
        reader_(make_reader(participant, *topic_, qos, make_listener().get())) {}
  /// Waits until no call is running. A call that finds its reader already partly deleted takes no samples.
  ~CalledReader() override { dds_set_listener(*reader_, nullptr); }

 private:
  auto make_listener() {
    hopmeter::Resource<dds_listener_t, dds_delete_listener> listener(dds_create_listener(this));
    dds_lset_data_available(listener.get(), [](dds_entity_t reader, void* self) {
      auto& called = *static_cast<CalledReader*>(self);
      called.look_(Source<Message>{reader, called.inbox_});
    });
    return listener;
  }

  Look look_;
  Inbox<Message> inbox_;
  Entity topic_, reader_;
};

template <class Message>
struct LinkPublisher final : hopmeter::Publisher {
  LinkPublisher(Participant& participant, const hopmeter::Link& link)
      : writer(participant, link, Message::topic(link.name), writer_qos(participant.setup, link)) {}
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return writer.write(writer.fill_sample(payload_bytes, fill));
  }
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    return writer.write(received.require_native<typename Message::Sample>("Cyclone DDS"));
  }
  Writer<Message> writer;
};

template <class Message>
struct LinkSubscriber final : hopmeter::Subscriber {
  LinkSubscriber(Participant& participant, const hopmeter::Link& link)
      : reader(participant, link, Message::topic(link.name), reader_qos(participant.setup)) {}
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto use = [&](const auto& sample) { hand_over<Message>(sample, take); };
    return reader.poll(timeout, [&](const auto& source) { return source.take(use); });
  }
  PolledReader<Message> reader;
};

/// The adapter for the given message types, `hopmeter::MessageTypes`. All link ends share one participant.
template <class Types>
class DdsTransport : public hopmeter::Transport {
 public:
  DdsTransport(const hopmeter::Setup& setup, const Options& options) : participant_(setup, options) {}

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return Types::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return hopmeter::Owned<hopmeter::Publisher>(std::make_unique<LinkPublisher<Message>>(participant_, link));
    });
  }
  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return Types::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return hopmeter::Owned<hopmeter::Subscriber>(std::make_unique<LinkSubscriber<Message>>(participant_, link));
    });
  }
  hopmeter::Owned<hopmeter::Subscription> subscribe(const hopmeter::Link& link, hopmeter::OnFrame on_frame) override {
    return Types::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return subscription<Message>(link, std::move(on_frame));
    });
  }
  hopmeter::Facts facts() override { return participant_.facts(); }

 protected:
  Participant participant_;

 private:
  template <class Message>
  hopmeter::Owned<hopmeter::Subscription> subscription(const hopmeter::Link& link, hopmeter::OnFrame on_frame) {
    auto look = [on_frame = std::move(on_frame)](const Source<Message>& source) {
      source.take([&](const auto& sample) { hand_over<Message>(sample, on_frame); });
    };
    return std::make_unique<CalledReader<Message, decltype(look)>>(participant_, Message::topic(link.name),
                                                                   reader_qos(participant_.setup), std::move(look));
  }
};

}  // namespace cyclone
