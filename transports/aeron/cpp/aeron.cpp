/// The adapter for Aeron: messages are in log buffers, which the media driver creates. ../README.md describes channels,
/// streams and settings.
#include <FragmentAssembler.h>
#include <concurrent/BackOffIdleStrategy.h>
#include <concurrent/SleepingIdleStrategy.h>
#include <concurrent/YieldingIdleStrategy.h>

#include <variant>

#include "client.hpp"
#include "hopmeter/draft.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;
using namespace aeron::concurrent;

namespace {

/// The publisher of a stream. Only one thread uses it, as Aeron's exclusive publications require.
class StreamPublisher final : public Publisher {
 public:
  StreamPublisher(AeronClient& client, const Link& link)
      : publication_(client.publish(link)), claims_(client.claims()) {}

  std::string address() const override { return std::to_string(publication_->streamId()); }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    const auto bytes = static_cast<aeron::util::index_t>(header_bytes + payload_bytes);
    if (claims_ && bytes <= publication_->maxPayloadLength()) return claim(bytes, payload_bytes, fill);
    return offer(payload_bytes, fill);
  }

 private:
  /// Writes the frame into the log buffer. The frame becomes visible to receivers when the claim is committed.
  Sent claim(aeron::util::index_t bytes, std::size_t payload_bytes, const Fill& fill) {
    logbuffer::BufferClaim claim;
    const auto position = retry([&] { return publication_->tryClaim(bytes, claim); });
    if (position < 0) return refuse(position, [&] { draft_.write(payload_bytes, fill); });
    fill({reinterpret_cast<std::byte*>(claim.buffer().buffer()) + claim.offset(), static_cast<std::size_t>(bytes)});
    claim.commit();
    return Sent::accepted;
  }

  /// Lets Aeron copy the frame into the log buffer, in fragments if the frame is larger than one fragment.
  Sent offer(std::size_t payload_bytes, const Fill& fill) {
    const auto frame = draft_.write(payload_bytes, fill);
    auto* bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(frame.data()));
    const AtomicBuffer buffer(bytes, frame.size());
    const auto position = retry([&] { return publication_->offer(buffer); });
    return position < 0 ? refuse(position, [] {}) : Sent::accepted;
  }

  /// Sends a message, and once more if the message did not fit into the current term. Aeron has then started the next
  /// term.
  static std::int64_t retry(const auto& send) {
    const auto position = send();
    return position == AERON_PUBLICATION_ADMIN_ACTION ? send() : position;
  }

  /// Handles a rejected message. Without a receiver, the message is lost; `drop` lets the caller write it nonetheless.
  static Sent refuse(std::int64_t position, const auto& drop) {
    if (position == AERON_PUBLICATION_BACK_PRESSURED || position == AERON_PUBLICATION_ADMIN_ACTION) return Sent::busy;
    if (position != AERON_PUBLICATION_NOT_CONNECTED)
      throw Error("Aeron has closed the publication (" + std::to_string(position) + ")",
                  "check that the media driver is running and that the machine is not overloaded");
    drop();
    return Sent::accepted;
  }

  std::shared_ptr<aeron::ExclusivePublication> publication_;
  bool claims_;
  Draft draft_;
};

/// How a receiver idles between two polls. A spinning receiver does not idle.
class Idle {
 public:
  Idle(const Link& link, const std::string& strategy) {
    if (link.wait != Wait::block) return;
    if (strategy == "backoff") strategy_.emplace<BackoffIdleStrategy>();
    if (strategy == "sleeping") strategy_.emplace<SleepingIdleStrategy>(std::chrono::milliseconds(1));
    if (strategy == "yielding") strategy_.emplace<YieldingIdleStrategy>();
  }

  void operator()(int fragments) {
    std::visit([&](auto& strategy) { strategy.idle(fragments); }, strategy_);
  }

 private:
  struct Spinning {
    void idle(int) {}
  };
  std::variant<Spinning, BackoffIdleStrategy, SleepingIdleStrategy, YieldingIdleStrategy> strategy_;
};

/// A subscriber of a stream. Receivers read a frame of one fragment in the log buffer. Aeron's assembler copies the
/// fragments of a larger frame.
class StreamSubscriber final : public Subscriber {
 public:
  StreamSubscriber(AeronClient& client, const Link& link)
      : idle_(link, client.idle()), subscription_(client.subscribe(link.address)) {}

  std::size_t poll(Timeout, Take take) override {
    take_ = &take;
    frames_ = 0;
    idle_(subscription_->poll(assemble_, fragment_limit));
    return frames_;
  }

 private:
  /// The largest number of fragments in one poll, as in Aeron's samples.
  static constexpr int fragment_limit = 10;

  void pass(AtomicBuffer& buffer, aeron::util::index_t offset, aeron::util::index_t bytes) {
    const auto* first = reinterpret_cast<const std::byte*>(buffer.buffer()) + offset;
    (*take_)(Received::split({first, static_cast<std::size_t>(bytes)}));
    ++frames_;
  }

  Idle idle_;
  const Take* take_ = nullptr;
  std::size_t frames_ = 0;
  aeron::FragmentAssembler assembler_{
      [this](auto& buffer, auto offset, auto bytes, auto&) { pass(buffer, offset, bytes); }};
  aeron::fragment_handler_t assemble_ = assembler_.handler();
  std::shared_ptr<aeron::Subscription> subscription_;
};

class AeronTransport final : public TransportOf<AeronClient, StreamPublisher, StreamSubscriber> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return aeron::Aeron::version(); }
  Facts facts() override { return {{"path", shared_.path()}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<AeronTransport>(argc, argv); }
