/// Fast DDS by its DDS interface: a writer and a reader for each link. ../README.md says what the messages are.
#include <fastrtps/config.h>

#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>

#include "messages.hpp"
#include "participant.hpp"

using namespace hopmeter;
using eprosima::fastrtps::types::ReturnCode_t;

namespace {

/// Whether Fast DDS took a sample; it does not where its history stays full, which is all that `busy` means here.
Sent sent(const ReturnCode_t& code) {
  if (code == ReturnCode_t::RETCODE_OK) return Sent::accepted;
  if (code == ReturnCode_t::RETCODE_TIMEOUT || code == ReturnCode_t::RETCODE_OUT_OF_RESOURCES) return Sent::busy;
  throw Error("Fast DDS refused a sample with return code " + std::to_string(code()));
}

template <class Message>
class Writer final : public Publisher {
 public:
  Writer(House& house, Participant& participant, const Link& link)
      : setup_(house.setup), participant_(participant), writer_(participant.writer(link)) {
    if constexpr (!Plain<Message>) prepare(message_, setup_);
  }
  ~Writer() override { participant_.close(writer_); }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    if constexpr (Plain<Message>) {
      return send_loan(payload_bytes, fill);
    } else {
      fill_in(message_, payload_bytes, fill);
      return write(&message_);
    }
  }

  Sent forward(const Received& received) override {
    const auto* message = received.native<Message>();
    if (!message) throw Error("this frame did not come by Fast DDS, so it cannot be moved on");
    return write(const_cast<Message*>(message));  // only read, as Fast DDS promises
  }

 private:
  struct Nothing {};

  Sent write(void* message) { return sent(writer_->write(message, fast::HANDLE_NIL)); }

  Sent send_loan(std::size_t payload_bytes, Fill fill) {
    void* loan = nullptr;
    if (const auto lent = sent(writer_->loan_sample(loan)); lent == Sent::busy) return lent;
    auto& message = *static_cast<Message*>(loan);
    prepare(message, setup_);
    fill_in(message, payload_bytes, fill);
    const auto done = write(loan);
    if (done == Sent::busy) writer_->discard_loan(loan);
    return done;
  }

  const Setup& setup_;
  Participant& participant_;
  fast::DataWriter* writer_;
  /// Kept from message to message, so that its memory is.
  [[no_unique_address]] std::conditional_t<Plain<Message>, Nothing, Message> message_;
};

/// A reader and the message that its samples are read into.
template <class Message>
class Inbox {
 public:
  /// Hands over the next sample, if there is one.
  bool take(fast::DataReader& reader, const auto& hand_over) {
    if constexpr (Plain<Message>)
      return take_loan(reader, hand_over);
    else
      return take_copy(reader, hand_over);
  }

 private:
  bool take_copy(fast::DataReader& reader, const auto& hand_over) {
    fast::SampleInfo info;
    do
      if (reader.take_next_sample(&message_, &info) != ReturnCode_t::RETCODE_OK) return false;
    while (!info.valid_data);
    hand(message_, hand_over);
    return true;
  }

  bool take_loan(fast::DataReader& reader, const auto& hand_over) {
    fast::LoanableSequence<Message> samples;
    fast::SampleInfoSeq infos;
    if (reader.take(samples, infos, 1) != ReturnCode_t::RETCODE_OK) return false;
    // With data sharing the writer may have taken the sample's memory back already.
    if (infos[0].valid_data && reader.is_sample_valid(&samples[0], &infos[0])) hand(samples[0], hand_over);
    reader.return_loan(samples, infos);
    return true;
  }

  static void hand(const Message& message, const auto& hand_over) {
    const auto carried = header(message);
    hand_over(Received(carried, payload(message)).with_native(&message));
  }

  struct Nothing {};
  [[no_unique_address]] std::conditional_t<Plain<Message>, Nothing, Message> message_;
};

template <class Message>
class Reader final : public Subscriber {
 public:
  Reader(House& house, Participant& participant, const Link& link)
      : participant_(participant), reader_(participant.reader(link)), spins_(house.setup.wait() == Wait::spin) {
    auto& arrival = reader_->get_statuscondition();
    arrival.set_enabled_statuses(fast::StatusMask::data_available());
    arrivals_.attach_condition(arrival);
  }
  ~Reader() override {
    arrivals_.detach_condition(reader_->get_statuscondition());
    participant_.close(reader_);
  }

  std::size_t poll(Timeout timeout, Take take) override {
    if (inbox_.take(*reader_, take)) return 1;
    if (spins_) return 0;
    arrivals_.wait(arrived_, eprosima::fastrtps::Duration_t(static_cast<long double>(timeout.count()) / 1e9L));
    return inbox_.take(*reader_, take);
  }

 private:
  Participant& participant_;
  fast::DataReader* reader_;
  bool spins_;
  Inbox<Message> inbox_;
  fast::WaitSet arrivals_;
  fast::ConditionSeq arrived_;
};

/// Has a participant of its own: Fast DDS holds the reader while it calls the listener, and a participant has one
/// thread for all that its readers owe their writers. A listener that waits for a reply would stop discovery, too.
template <class Message>
class Listener final : public Subscription, private fast::DataReaderListener {
 public:
  Listener(House& house, const Link& link, OnFrame on_frame)
      : on_frame_(std::move(on_frame)), participant_(house), reader_(participant_.reader(link, this)) {}
  ~Listener() override { participant_.close(reader_); }

 private:
  /// Entered by whichever thread brings a sample; within the process that may be one that a sample of ours has set
  /// off, further down on the same stack: the call that is under way then takes what has come.
  void on_data_available(fast::DataReader* reader) override {
    const std::lock_guard lock(mutex_);
    if (is_running_) return;
    is_running_ = true;
    while (inbox_.take(*reader, on_frame_)) continue;
    is_running_ = false;
  }

  OnFrame on_frame_;
  std::recursive_mutex mutex_;
  bool is_running_ = false;
  Inbox<Message> inbox_;
  Participant participant_;
  fast::DataReader* reader_;
};

/// The adapter for one message type.
template <class Message>
class Carrier final : public Transport {
 public:
  explicit Carrier(const Setup& setup)
      : house_(setup, fast::TypeSupport(new typename Generated<Message>::type)), participant_(house_) {
    if constexpr (Plain<Message>) demand_room(setup.frame_bytes() - header_bytes);
  }

  Owned<Publisher> publisher(const Link& link) override {
    return std::make_unique<Writer<Message>>(house_, participant_, link);
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    return std::make_unique<Reader<Message>>(house_, participant_, link);
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<Listener<Message>>(house_, link, std::move(on_frame));
  }
  Facts facts() override { return house_.meetings.facts(); }

 private:
  static void demand_room(std::size_t payload_bytes) {
    constexpr auto room = std::tuple_size_v<std::remove_cvref_t<decltype(octets(std::declval<Message&>()))>>;
    if (payload_bytes > room)
      throw Error("data sharing needs a type of fixed size, and this one holds " + std::to_string(room) +
                      " of the payload's " + std::to_string(payload_bytes) + " bytes",
                  "set data_sharing = false, or measure smaller payloads (images may have 8 MiB)");
  }

  House house_;
  Participant participant_;
};

/// Picks the message by what the payload stands for.
class FastDds final : public Transport {
 public:
  explicit FastDds(const Setup& setup) : carrier_(carrier(setup)) {}

  static std::string version() { return "Fast DDS " FASTRTPS_VERSION_STR; }

  Owned<Publisher> publisher(const Link& link) override { return carrier_->publisher(link); }
  Owned<Subscriber> subscriber(const Link& link) override { return carrier_->subscriber(link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return carrier_->subscribe(link, std::move(on_frame));
  }
  Facts facts() override { return carrier_->facts(); }

 private:
  static std::unique_ptr<Transport> carrier(const Setup& setup) {
    const bool is_plain = setup.setting<bool>("data_sharing");
    if (setup.payload() == PayloadKind::image)
      return is_plain ? carrier<message::PlainImage>(setup) : carrier<message::Image>(setup);
    return is_plain ? carrier<message::PlainTiming>(setup) : carrier<message::Timing>(setup);
  }
  template <class Message>
  static std::unique_ptr<Transport> carrier(const Setup& setup) {
    return std::make_unique<Carrier<Message>>(setup);
  }

  std::unique_ptr<Transport> carrier_;
};

}  // namespace

int main(int argc, char** argv) { return run<FastDds>(argc, argv); }
