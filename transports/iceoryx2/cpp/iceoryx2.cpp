/// The adapter for iceoryx2: samples are loaned from shared memory and passed by reference, without a broker.
/// ../README.md describes services, events and settings.
#include "domain.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;
using iceoryx2::demand;
using iceoryx2::Domain;

namespace {

/// A publisher, whose ports are destroyed before its services.
class LoanPublisher final : public Publisher {
 public:
  LoanPublisher(Domain& domain, const Link& link)
      : frames_(domain.frames(link)),
        events_(domain.wake(link)),
        publisher_(demand(frames_.publisher_builder()
                              .initial_max_slice_len(link.frame_bytes)
                              .backpressure_strategy(iox2::BackpressureStrategy::DiscardData)
                              .create(),
                          "creating a publisher of frames of " + std::to_string(link.frame_bytes) + " bytes",
                          "a publisher reserves all its samples in /dev/shm; check that there is room")) {
    if (events_) notifier_.emplace(demand(events_->notifier_builder().create(), "creating a notifier"));
  }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    auto loan = publisher_.loan_slice_uninit(header_bytes + payload_bytes);
    if (!loan.has_value() && is_full(loan.error())) return Sent::busy;
    auto sample = demand(std::move(loan), "loaning a sample from iceoryx2");
    auto memory = sample.payload_mut();
    fill(std::as_writable_bytes(std::span(memory.data(), memory.number_of_elements())));
    const auto receivers = demand(iox2::send(iox2::assume_init(std::move(sample))), "sending an iceoryx2 sample");
    if (receivers == 0 && frames_.dynamic_config().number_of_subscribers() > 0) return Sent::busy;
    if (notifier_) demand(notifier_->notify(), "notifying iceoryx2's listeners");
    return Sent::accepted;
  }

 private:
  static bool is_full(iox2::LoanError error) noexcept {
    return error == iox2::LoanError::OutOfMemory || error == iox2::LoanError::ExceedsMaxLoanedSamples;
  }

  iceoryx2::FrameService frames_;
  std::optional<iceoryx2::WakeService> events_;
  iox2::Publisher<iceoryx2::ipc, iceoryx2::Bytes, void> publisher_;
  std::optional<iox2::Notifier<iceoryx2::ipc>> notifier_;
};

/// A subscriber, whose listener is created first, because a peer may wake the listener as soon as the peer sees the
/// subscriber.
class LoanSubscriber final : public Subscriber {
 public:
  LoanSubscriber(Domain& domain, const Link& link)
      : frames_(domain.frames(link)),
        events_(domain.wake(link)),
        listener_(listen()),
        subscriber_(demand(frames_.subscriber_builder().create(), "creating a subscriber")) {}

  std::size_t poll(Timeout timeout, Take take) override {
    const auto frames = take_all(take);
    if (frames > 0 || !listener_) return frames;
    const auto patience = iox2::bb::Duration::from_nanos(static_cast<std::uint64_t>(timeout.count()));
    demand(listener_->timed_wait([](const auto&) {}, patience), "waiting for an iceoryx2 event");
    return take_all(take);
  }

 private:
  std::optional<iox2::Listener<iceoryx2::ipc>> listen() {
    if (!events_) return {};
    return demand(events_->listener_builder().create(), "creating a listener");
  }

  std::size_t take_all(const Take& take) {
    for (std::size_t frames = 0;; ++frames) {
      const auto sample = demand(subscriber_.receive(), "receiving from iceoryx2");
      if (!sample.has_value()) return frames;
      const auto bytes = sample->payload();
      take(Received::split(std::as_bytes(std::span(bytes.data(), bytes.number_of_elements()))));
    }
  }

  iceoryx2::FrameService frames_;
  std::optional<iceoryx2::WakeService> events_;
  std::optional<iox2::Listener<iceoryx2::ipc>> listener_;
  iox2::Subscriber<iceoryx2::ipc, iceoryx2::Bytes, void> subscriber_;
};

class Iceoryx2 final : public TransportOf<Domain, LoanPublisher, LoanSubscriber> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return ICEORYX2_VERSION; }
  Facts facts() override { return {{"path", "shared memory of iceoryx2"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Iceoryx2>(argc, argv); }
