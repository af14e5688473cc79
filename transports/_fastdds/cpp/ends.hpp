/// The ends of links: a writer, and readers that are polled or called.
#pragma once

#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <semaphore>
#include <thread>

#include "message.hpp"

namespace fastdds {

using eprosima::fastrtps::types::ReturnCode_t;

/// Whether Fast DDS took a sample; it does not where its history stays full, which is all that `busy` means here.
inline hopmeter::Sent sent(const ReturnCode_t& code) {
  if (code == ReturnCode_t::RETCODE_OK) return hopmeter::Sent::accepted;
  if (code == ReturnCode_t::RETCODE_TIMEOUT || code == ReturnCode_t::RETCODE_OUT_OF_RESOURCES)
    return hopmeter::Sent::busy;
  throw hopmeter::Error("Fast DDS refused a sample with return code " + std::to_string(code()));
}

/// A writer or a reader in its participant.
template <class End>
class Held {
 public:
  Held(Participant& participant, End* end) : participant_(participant), end_(end) {}
  Held(const Held&) = delete;
  ~Held() { participant_.close(end_); }

  End* operator->() const noexcept { return end_; }
  End& operator*() const noexcept { return *end_; }

 private:
  Participant& participant_;
  End* end_;
};

/// Writes messages, from one that is kept so that its memory is; plain ones into memory that the library lends.
template <class Message>
class Outgoing {
 public:
  Outgoing(House& house, Participant& participant, const std::string& topic, const fast::DataWriterQos& qos)
      : setup_(house.setup), writer_(participant, participant.writer(place<Message>(topic), qos)) {
    if constexpr (!Plain<Message>) Message::shape(sample_, setup_);
  }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) {
    if constexpr (Plain<Message>)
      return send_loan(payload_bytes, fill);
    else
      return write(&filled(payload_bytes, fill));
  }

  Sample<Message>& filled(std::size_t payload_bytes, hopmeter::Fill fill) requires(!Plain<Message>) {
    fill_in<Message>(sample_, payload_bytes, fill);
    return sample_;
  }

  /// The sample is only read, as Fast DDS promises.
  hopmeter::Sent write(const Sample<Message>* sample) {
    return sent(writer_->write(const_cast<Sample<Message>*>(sample), fast::HANDLE_NIL));
  }

  fast::DataWriter& writer() const noexcept { return *writer_; }

 private:
  struct Nothing {};

  hopmeter::Sent send_loan(std::size_t payload_bytes, hopmeter::Fill fill) {
    void* loan = nullptr;
    if (const auto lent = sent(writer_->loan_sample(loan)); lent == hopmeter::Sent::busy) return lent;
    auto& sample = *static_cast<Sample<Message>*>(loan);
    Message::shape(sample, setup_);
    fill_in<Message>(sample, payload_bytes, fill);
    const auto done = write(&sample);
    if (done == hopmeter::Sent::busy) writer_->discard_loan(loan);
    return done;
  }

  const hopmeter::Setup& setup_;
  Held<fast::DataWriter> writer_;
  [[no_unique_address]] std::conditional_t<Plain<Message>, Nothing, Sample<Message>> sample_;
};

template <class Message>
class Writer final : public hopmeter::Publisher {
 public:
  Writer(House& house, Participant& participant, const hopmeter::Link& link)
      : outgoing_(house, participant, Message::topic(link.name), writer_qos(house.setup, house.customs)) {}

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return outgoing_.send(payload_bytes, fill);
  }

  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto* sample = received.native<Sample<Message>>();
    if (!sample) throw hopmeter::Error("this frame did not come by Fast DDS, so it cannot be moved on");
    return outgoing_.write(sample);
  }

 private:
  Outgoing<Message> outgoing_;
};

/// The message that samples are read into.
template <class Message>
class Inbox {
 public:
  /// Hands over the next sample as the instrument sees it, if there is one.
  bool take(fast::DataReader& reader, const auto& hand_over) {
    return take_sample(reader, [&](const auto& sample) { hand<Message>(sample, hand_over); });
  }

  /// The same with the sample itself.
  bool take_sample(fast::DataReader& reader, const auto& hand_over) {
    if constexpr (Plain<Message>)
      return take_loan(reader, hand_over);
    else
      return take_copy(reader, hand_over);
  }

 private:
  bool take_copy(fast::DataReader& reader, const auto& hand_over) {
    fast::SampleInfo info;
    do
      if (reader.take_next_sample(&sample_, &info) != ReturnCode_t::RETCODE_OK) return false;
    while (!info.valid_data);
    hand_over(sample_);
    return true;
  }

  bool take_loan(fast::DataReader& reader, const auto& hand_over) {
    fast::LoanableSequence<Sample<Message>> samples;
    fast::SampleInfoSeq infos;
    if (reader.take(samples, infos, 1) != ReturnCode_t::RETCODE_OK) return false;
    // With data sharing the writer may have taken the sample's memory back already.
    if (infos[0].valid_data && reader.is_sample_valid(&samples[0], &infos[0])) hand_over(samples[0]);
    reader.return_loan(samples, infos);
    return true;
  }

  struct Nothing {};
  [[no_unique_address]] std::conditional_t<Plain<Message>, Nothing, Sample<Message>> sample_;
};

/// A reader that is polled, and what waits for its samples.
class Polled {
 public:
  Polled(House& house, Participant& participant, const Place& place, const fast::DataReaderQos& qos)
      : spins_(house.setup.wait() == hopmeter::Wait::spin), reader_(participant, participant.reader(place, qos)) {
    auto& arrival = reader_->get_statuscondition();
    arrival.set_enabled_statuses(fast::StatusMask::data_available());
    arrivals_.attach_condition(arrival);
  }
  ~Polled() { arrivals_.detach_condition(reader_->get_statuscondition()); }

  /// Looks, and where it found nothing looks again when something has come, unless this end spins.
  std::size_t next(hopmeter::Timeout timeout, const auto& look) {
    if (look(*reader_)) return 1;
    if (spins_) return 0;
    arrivals_.wait(arrived_, eprosima::fastrtps::Duration_t(static_cast<long double>(timeout.count()) / 1e9L));
    return look(*reader_);
  }

 private:
  bool spins_;
  Held<fast::DataReader> reader_;
  fast::WaitSet arrivals_;
  fast::ConditionSeq arrived_;
};

template <class Message>
class Reader final : public hopmeter::Subscriber {
 public:
  Reader(House& house, Participant& participant, const hopmeter::Link& link)
      : polled_(house, participant, place<Message>(Message::topic(link.name)), reader_qos(house.setup, house.customs)) {
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return polled_.next(timeout, [&](auto& reader) { return inbox_.take(reader, take); });
  }

 private:
  Polled polled_;
  Inbox<Message> inbox_;
};

/// Has a participant of its own: Fast DDS holds the reader while it calls the listener, and a participant has one
/// thread for all that its readers owe their writers. A listener that takes long would stop discovery, too.
template <class Look>
class Called final : public hopmeter::Subscription, private fast::DataReaderListener {
 public:
  Called(House& house, const Place& place, const fast::DataReaderQos& qos, Look look)
      : look_(std::move(look)), participant_(house), reader_(participant_, participant_.reader(place, qos, this)) {}

 private:
  /// Entered by whichever thread brings a sample; within the process that may be one that a sample of ours has set
  /// off, further down on the same stack: the call that is under way then takes what has come.
  void on_data_available(fast::DataReader* reader) override {
    const std::lock_guard lock(mutex_);
    if (is_running_) return;
    is_running_ = true;
    while (look_(*reader)) continue;
    is_running_ = false;
  }

  Look look_;
  std::recursive_mutex mutex_;
  bool is_running_ = false;
  Participant participant_;
  Held<fast::DataReader> reader_;
};

/// Has `look(reader)` called when samples have come, until it finds none.
template <class Look>
hopmeter::Owned<hopmeter::Subscription> called(House& house, const Place& place, const fast::DataReaderQos& qos,
                                               Look look) {
  return std::make_unique<Called<Look>>(house, place, qos, std::move(look));
}

/// For servers: a thread of its own, which the listener wakes. A server may ask the next one and wait for its reply; on
/// the thread that brought the request, which within the process is the asker's, all that has to bring the reply
/// would wait with it.
template <class Look>
class Served final : public hopmeter::Subscription, private fast::DataReaderListener {
 public:
  Served(Participant& participant, const Place& place, const fast::DataReaderQos& qos, Look look)
      : look_(std::move(look)),
        reader_(participant, participant.reader(place, qos, this)),
        thread_([this](const std::stop_token& is_over) { serve(is_over); }) {}
  /// Waits for the call that is under way.
  ~Served() override {
    thread_.request_stop();
    arrivals_.release();
    thread_.join();
  }

 private:
  void on_data_available(fast::DataReader*) override { arrivals_.release(); }

  void serve(const std::stop_token& is_over) {
    for (arrivals_.acquire(); !is_over.stop_requested(); arrivals_.acquire())
      while (look_(*reader_)) continue;
  }

  Look look_;
  std::counting_semaphore<> arrivals_{0};
  Held<fast::DataReader> reader_;
  std::jthread thread_;
};

/// The same as `called`, for a `look` that may wait for what others send.
template <class Look>
hopmeter::Owned<hopmeter::Subscription> served(Participant& participant, const Place& place,
                                               const fast::DataReaderQos& qos, Look look) {
  return std::make_unique<Served<Look>>(participant, place, qos, std::move(look));
}

}  // namespace fastdds
