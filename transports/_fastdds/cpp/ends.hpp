/// Writers and readers of links. A transport describes each of its message types by a layout (hopmeter/message.hpp).
/// The layout also names the topic and the type that fastddsgen generated:
///
///   using Support = message::ImagePubSubType;
///   static std::string topic(const std::string& link);
///
/// and may override the type's name:
///
///   static constexpr const char* type_name = "message::Picture";
#pragma once

#include <fastrtps/config.h>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <semaphore>
#include <thread>

#include "hopmeter/message.hpp"
#include "participant.hpp"

namespace fastdds {

using eprosima::fastrtps::types::ReturnCode_t;

inline std::string version() { return "Fast DDS " FASTRTPS_VERSION_STR; }

template <class Message>
using Sample = typename Message::Support::type;

/// Whether a message has a fixed size and no pointers, so that its memory can be loaned and shared.
template <class Message>
concept Plain = hopmeter::FixedSize<Message, Sample<Message>>;

/// Sets the fields that are constant in all images: three bytes per pixel.
void set_shape(auto& picture, const hopmeter::Link& link) {
  picture.height(link.height);
  picture.width(link.width);
  picture.step(3 * link.width);
  if constexpr (requires { picture.encoding().assign("rgb8"); })
    picture.encoding().assign("rgb8");
  else
    picture.encoding() = {'r', 'g', 'b', '8'};
}

template <class Message>
TypedTopic topic_of(const std::string& name) {
  fast::TypeSupport type(new typename Message::Support);
  if constexpr (requires { Message::type_name; }) type->setName(Message::type_name);
  // Peers match types by name, and Cyclone DDS 0.10 crashes on an unexpected type description.
  type->auto_fill_type_object(false);
  type->auto_fill_type_information(false);
  return {name, type};
}

/// Converts the result of a write, which is `busy` only if the writer's history stays full.
inline hopmeter::Sent to_sent(const ReturnCode_t& code) {
  if (code == ReturnCode_t::RETCODE_OK) return hopmeter::Sent::accepted;
  if (code == ReturnCode_t::RETCODE_TIMEOUT || code == ReturnCode_t::RETCODE_OUT_OF_RESOURCES)
    return hopmeter::Sent::busy;
  throw hopmeter::Error("Fast DDS refused a sample with return code " + std::to_string(code()));
}

/// The sample that a link end reuses for each message, unless the library loans memory for plain samples.
template <class Message>
class OwnSample {
 public:
  Sample<Message>& operator*() noexcept { return sample_; }

 private:
  struct None {};
  [[no_unique_address]] std::conditional_t<Plain<Message>, None, Sample<Message>> sample_;
};

/// Writes samples: reuses one sample for all messages, or writes plain samples into loaned memory.
template <class Message>
class Writer {
 public:
  Writer(Participant& participant, const hopmeter::Link& link, const std::string& topic, const fast::DataWriterQos& qos)
      : link_(link), writer_(participant, participant.writer(topic_of<Message>(topic), qos)) {
    if constexpr (!Plain<Message>) Message::shape(*sample_, link_);
  }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) {
    if constexpr (Plain<Message>)
      return send_loan(payload_bytes, fill);
    else
      return write(fill_sample(payload_bytes, fill));
  }

  /// Lets `fill` write a frame into the sample.
  Sample<Message>& fill_sample(std::size_t payload_bytes, hopmeter::Fill fill) requires(!Plain<Message>) {
    hopmeter::write_message<Message>(*sample_, payload_bytes, fill);
    return *sample_;
  }

  /// Fast DDS guarantees that it only reads the sample.
  hopmeter::Sent write(const Sample<Message>& sample) {
    return to_sent(writer_->write(const_cast<Sample<Message>*>(&sample), fast::HANDLE_NIL));
  }

  /// Writes a sample with inline parameters.
  hopmeter::Sent write(const Sample<Message>& sample, rtps::WriteParams& parameters) {
    const bool is_written = writer_->write(const_cast<Sample<Message>*>(&sample), parameters);
    return is_written ? hopmeter::Sent::accepted : hopmeter::Sent::busy;
  }

  const rtps::GUID_t& guid() const { return writer_->guid(); }

 private:
  hopmeter::Sent send_loan(std::size_t payload_bytes, hopmeter::Fill fill) {
    void* loan = nullptr;
    if (to_sent(writer_->loan_sample(loan)) == hopmeter::Sent::busy) return hopmeter::Sent::busy;
    auto& sample = *static_cast<Sample<Message>*>(loan);
    Message::shape(sample, link_);
    hopmeter::write_message<Message>(sample, payload_bytes, fill);
    const auto sent = write(sample);
    if (sent == hopmeter::Sent::busy) writer_->discard_loan(loan);
    return sent;
  }

  hopmeter::Link link_;
  Endpoint<fast::DataWriter> writer_;
  OwnSample<Message> sample_;
};

/// Takes samples from a reader into reused memory, except plain samples, which the reader loans.
template <class Message>
class Inbox {
 public:
  /// Passes the next sample to `use`, if there is one. Returns whether there was a sample.
  bool take(fast::DataReader& reader, const auto& use) {
    if constexpr (Plain<Message>)
      return take_loan(reader, use);
    else
      return take_copy(reader, use);
  }

  /// The metadata of the current sample, unless the sample is a loan.
  const fast::SampleInfo& info() const { return info_; }

 private:
  bool take_copy(fast::DataReader& reader, const auto& use) {
    do
      if (reader.take_next_sample(&*sample_, &info_) != ReturnCode_t::RETCODE_OK) return false;
    while (!info_.valid_data);
    use(std::as_const(*sample_));
    return true;
  }

  bool take_loan(fast::DataReader& reader, const auto& use) {
    fast::LoanableSequence<Sample<Message>> samples;
    fast::SampleInfoSeq infos;
    if (reader.take(samples, infos, 1) != ReturnCode_t::RETCODE_OK) return false;
    // With data sharing, the writer may already have reused the sample's memory.
    if (infos[0].valid_data && reader.is_sample_valid(&samples[0], &infos[0])) use(std::as_const(samples[0]));
    reader.return_loan(samples, infos);
    return true;
  }

  OwnSample<Message> sample_;
  fast::SampleInfo info_;
};

/// A reader, and the memory for its samples.
template <class Message>
struct Source {
  bool take(const auto& use) const { return inbox.take(reader, use); }
  const fast::SampleInfo& info() const { return inbox.info(); }

  fast::DataReader& reader;
  Inbox<Message>& inbox;
};

template <class Message>
class PolledReader {
 public:
  PolledReader(Participant& participant, const hopmeter::Link& link, const std::string& topic,
               const fast::DataReaderQos& qos)
      : spins_(link.wait == hopmeter::Wait::spin),
        reader_(participant, participant.reader(topic_of<Message>(topic), qos)) {
    auto& arrival = reader_->get_statuscondition();
    arrival.set_enabled_statuses(fast::StatusMask::data_available());
    waitset_.attach_condition(arrival);
  }
  ~PolledReader() { waitset_.detach_condition(reader_->get_statuscondition()); }

  /// Calls `look(source)`. If `look` finds no sample and this end blocks, waits for an arrival and calls `look` again.
  std::size_t poll(hopmeter::Timeout timeout, const auto& look) {
    const Source<Message> source{*reader_, inbox_};
    if (look(source)) return 1;
    if (spins_) return 0;
    waitset_.wait(active_, eprosima::fastrtps::Duration_t(static_cast<long double>(timeout.count()) / 1e9L));
    return look(source);
  }

  const rtps::GUID_t& guid() const { return reader_->guid(); }

 private:
  bool spins_;
  Endpoint<fast::DataReader> reader_;
  Inbox<Message> inbox_;
  fast::WaitSet waitset_;
  fast::ConditionSeq active_;
};

/// Calls `look(source)` after samples have arrived, until `look` finds no sample.
///
/// The listener needs its own participant. Fast DDS locks the reader during a call, and a single thread sends
/// everything from a participant's readers to writers. In a shared participant, a slow listener would therefore stop
/// discovery.
template <class Message, class Look>
class CalledReader final : public hopmeter::Subscription, private fast::DataReaderListener {
 public:
  CalledReader(Session& session, const std::string& topic, const fast::DataReaderQos& qos, Look look)
      : look_(std::move(look)),
        participant_(session),
        reader_(participant_, participant_.reader(topic_of<Message>(topic), qos, this)) {}

 private:
  /// Any thread that delivers a sample may call this function. If both ends are in this process, calls may be nested,
  /// because a sample sent from the outer call triggers the inner call. The outer call then takes the new samples.
  void on_data_available(fast::DataReader* reader) override {
    const std::lock_guard lock(mutex_);
    if (is_running_) return;
    is_running_ = true;
    while (look_(Source<Message>{*reader, inbox_})) continue;
    is_running_ = false;
  }

  Look look_;
  Inbox<Message> inbox_;
  std::recursive_mutex mutex_;
  bool is_running_ = false;
  Participant participant_;
  Endpoint<fast::DataReader> reader_;
};

/// Calls `look` for a server on a separate thread, which the listener wakes. A server that waited for another server's
/// reply on the delivering thread would deadlock, because that thread must also deliver the reply.
template <class Message, class Look>
class ServingReader final : public hopmeter::Subscription, private fast::DataReaderListener {
 public:
  ServingReader(Participant& participant, const std::string& topic, const fast::DataReaderQos& qos, Look look)
      : look_(std::move(look)),
        reader_(participant, participant.reader(topic_of<Message>(topic), qos, this)),
        thread_([this](const std::stop_token& stop) { serve(stop); }) {}
  /// Waits for a running call.
  ~ServingReader() override {
    thread_.request_stop();
    arrivals_.release();
    thread_.join();
  }

 private:
  void on_data_available(fast::DataReader*) override { arrivals_.release(); }

  void serve(const std::stop_token& stop) {
    for (arrivals_.acquire(); !stop.stop_requested(); arrivals_.acquire())
      while (look_(Source<Message>{*reader_, inbox_})) continue;
  }

  Look look_;
  Inbox<Message> inbox_;
  std::counting_semaphore<> arrivals_{0};
  Endpoint<fast::DataReader> reader_;
  std::jthread thread_;
};

}  // namespace fastdds
