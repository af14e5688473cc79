/// The adapter for iceoryx: the sender writes frames into chunks of shared memory, and receivers read them there.
/// ../README.md has details.
#include <iceoryx_posh/popo/listener.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <iceoryx_versions.hpp>

#include <unistd.h>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;

namespace {

/// The header of a frame begins at a cache line.
constexpr std::uint32_t alignment = 64;

iox::capro::ServiceDescription service(const Link& link) {
  return {"hopmeter", iox::capro::IdString_t(iox::cxx::TruncateToCapacity, link.name.c_str()), "frames"};
}

/// Passes on all waiting frames and releases their chunks. Returns the number of frames.
std::size_t drain(iox::popo::UntypedSubscriber& subscriber, const auto& take) {
  const auto give_back = [&](const void* payload) { subscriber.release(payload); };
  std::size_t frames = 0;
  const void* payload = nullptr;
  while (!subscriber.take().and_then([&](const void* taken) { payload = taken; }).has_error()) {
    const std::unique_ptr<const void, decltype(give_back)> chunk(payload, give_back);
    const auto bytes = iox::mepoo::ChunkHeader::fromUserPayload(payload)->userPayloadSize();
    take(Received::split({static_cast<const std::byte*>(payload), bytes}));
    ++frames;
  }
  return frames;
}

iox::popo::SubscriberOptions options(const Setup& setup) {
  iox::popo::SubscriberOptions options;
  options.queueCapacity = setup.setting<std::uint64_t>("queue");
  return options;
}

class Pub final : public Publisher {
 public:
  Pub(const Setup&, const Link& link) : publisher_(service(link)) {}

  /// Writes a frame into a chunk and sends the chunk. Returns busy if no chunk is free.
  Sent send(std::size_t payload_bytes, Fill fill) override {
    void* chunk = nullptr;
    const auto bytes = header_bytes + payload_bytes;
    const auto loan =
        publisher_.loan(static_cast<std::uint32_t>(bytes), alignment).and_then([&](void* loan) { chunk = loan; });
    if (loan.has_error()) return Sent::busy;
    fill(std::span(static_cast<std::byte*>(chunk), bytes));
    publisher_.publish(chunk);
    return Sent::accepted;
  }

 private:
  iox::popo::UntypedPublisher publisher_;
};

class Sub final : public Subscriber {
 public:
  Sub(const Setup& setup, const Link& link)
      : subscriber_(service(link), options(setup)), spins_(link.wait == Wait::spin) {
    if (!spins_) {
      waits_.attachState(subscriber_, iox::popo::SubscriberState::HAS_DATA).or_else([](auto) {
        throw Error("attaching a subscriber to its wait set");
      });
    }
  }
  ~Sub() override {
    if (!spins_) waits_.detachState(subscriber_, iox::popo::SubscriberState::HAS_DATA);
  }

  std::size_t poll(Timeout timeout, Take take) override {
    if (!spins_) waits_.timedWait(iox::units::Duration::fromNanoseconds(timeout.count()));
    return drain(subscriber_, take);
  }

 private:
  iox::popo::UntypedSubscriber subscriber_;
  iox::popo::WaitSet<> waits_;
  bool spins_;
};

/// A receiver with a callback on the thread of its own listener.
class Called final : public Subscription {
 public:
  Called(const Setup& setup, const Link& link, OnFrame on_frame)
      : on_frame_(std::move(on_frame)), subscriber_(service(link), options(setup)) {
    listener_
        .attachEvent(subscriber_, iox::popo::SubscriberEvent::DATA_RECEIVED,
                     iox::popo::createNotificationCallback(Called::take, *this))
        .or_else([](auto) { throw Error("attaching a subscriber to its listener"); });
  }
  ~Called() override { listener_.detachEvent(subscriber_, iox::popo::SubscriberEvent::DATA_RECEIVED); }

 private:
  static void take(iox::popo::UntypedSubscriber* subscriber, Called* self) { drain(*subscriber, self->on_frame_); }

  OnFrame on_frame_;
  iox::popo::UntypedSubscriber subscriber_;
  iox::popo::Listener listener_;
};

class Iceoryx final : public TransportOf<Setup, Pub, Sub, Called> {
 public:
  explicit Iceoryx(const Setup& setup) : TransportOf(setup) {
    const auto name = "hm_" + setup.run() + "_" + std::to_string(::getpid());
    iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name.c_str()));
  }

  static std::string version() { return ICEORYX_LATEST_RELEASE_VERSION; }
  Facts facts() override { return {{"path", "shared memory of RouDi"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Iceoryx>(argc, argv); }
