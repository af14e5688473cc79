/// The ends of links: a writer, and readers that are polled or called.
#pragma once

#include "house.hpp"
#include "message.hpp"

namespace cyclone {

/// Writes a sample, or says that this would wait.
inline hopmeter::Sent written(dds_entity_t writer, const void* sample) {
  const auto code = dds_write(writer, sample);
  if (code == DDS_RETCODE_TIMEOUT) return hopmeter::Sent::busy;
  demand(code, "write a sample");
  return hopmeter::Sent::accepted;
}

template <class Message>
class Writer final : public hopmeter::Publisher {
 public:
  Writer(House& house, const hopmeter::Link& link)
      : outgoing_(house.setup),
        topic_(house.topic(Message::type, Message::topic(link.name))),
        writer_(house.writer(*topic_, link, writer_qos(house.setup, link))) {}

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return written(*writer_, &outgoing_.filled(payload_bytes, fill));
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* sample = received.native<typename Message::Sample>();
    if (!sample) throw hopmeter::Error("this frame did not come by Cyclone DDS, so it cannot be moved on");
    return written(*writer_, sample);
  }

 private:
  Outgoing<Message> outgoing_;
  Entity topic_, writer_;
};

/// Takes the samples of a reader, each into the same memory: a loan of the library is freed when it is returned, with
/// the octets in it, and made anew for the next sample.
template <class Message>
class Inbox {
 public:
  explicit Inbox(House& house) : house_(house) {}
  Inbox(const Inbox&) = delete;
  ~Inbox() { dds_sample_free(&sample_, &Message::type, DDS_FREE_CONTENTS); }

  /// Hands over the next sample as the instrument sees it, if there is one.
  bool take(dds_entity_t reader, const auto& hand_over) {
    return take_sample(reader, [&](const auto& sample) { hand<Message>(sample, hand_over); });
  }

  /// The same with the sample itself.
  bool take_sample(dds_entity_t reader, const auto& hand_over) {
    dds_sample_info_t info;
    void* into = &sample_;
    while (demand(dds_take(reader, &into, &info, 1, 1), "take a sample") > 0) {
      if (!info.valid_data) continue;
      hand_over(std::as_const(sample_));
      note(reader, info.publication_handle);
      return true;
    }
    return false;
  }

 private:
  void note(dds_entity_t reader, dds_instance_handle_t writer) {
    if (writer == writer_) return;
    writer_ = writer;
    house_.note(reader, writer);
  }

  House& house_;
  typename Message::Sample sample_{};
  dds_instance_handle_t writer_ = 0;
};

/// Waits for the samples of a reader that is polled.
class Arrivals {
 public:
  Arrivals(House& house, dds_entity_t reader)
      : spins_(house.setup.wait() == hopmeter::Wait::spin), waitset_(house.waitset()) {
    demand(dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS), "watch for samples");
    demand(dds_waitset_attach(*waitset_, reader, 0), "watch for samples");
  }

  /// Looks, and where it found nothing looks again when something has come, unless this end spins.
  std::size_t next(hopmeter::Timeout timeout, const auto& look) {
    if (look()) return 1;
    if (spins_) return 0;
    demand(dds_waitset_wait(*waitset_, nullptr, 0, timeout.count()), "wait for samples");
    return look();
  }

 private:
  bool spins_;
  Entity waitset_;
};

template <class Message>
class Reader final : public hopmeter::Subscriber {
 public:
  Reader(House& house, const hopmeter::Link& link)
      : inbox_(house),
        topic_(house.topic(Message::type, Message::topic(link.name))),
        reader_(house.reader(*topic_, link, reader_qos(house.setup))),
        arrivals_(house, *reader_) {}

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return arrivals_.next(timeout, [&] { return inbox_.take(*reader_, take); });
  }

 private:
  Inbox<Message> inbox_;
  Entity topic_, reader_;
  Arrivals arrivals_;
};

/// What has Cyclone DDS call `arrived(reader)` of an object, once for each sample.
template <class Called>
auto calling(Called* called) {
  const auto enter = [](dds_entity_t reader, void* self) { static_cast<Called*>(self)->arrived(reader); };
  std::unique_ptr<dds_listener_t, decltype(&dds_delete_listener)> listener(dds_create_listener(called),
                                                                           &dds_delete_listener);
  dds_lset_data_available(listener.get(), enter);
  return listener;
}

/// Entered by the thread that receives, or within the process by the one that writes; never by two at once.
template <class Message>
class Listener final : public hopmeter::Subscription {
 public:
  Listener(House& house, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : on_frame_(std::move(on_frame)),
        inbox_(house),
        topic_(house.topic(Message::type, Message::topic(link.name))),
        reader_(house.reader(*topic_, link, reader_qos(house.setup), calling<Listener>(this).get())) {}
  /// Waits until no call is under way: one that finds its reader half deleted cannot take.
  ~Listener() override { dds_set_listener(*reader_, nullptr); }

  void arrived(dds_entity_t reader) { inbox_.take(reader, on_frame_); }

 private:
  hopmeter::OnFrame on_frame_;
  Inbox<Message> inbox_;
  Entity topic_, reader_;
};

}  // namespace cyclone
