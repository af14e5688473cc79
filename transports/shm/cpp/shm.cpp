/// The ring of ../rust by its C ABI, as hopmeter's contract wants it. What it is and does: ../README.md.
#include "hopmeter_shm.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "hopmeter/hopmeter.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;

namespace {

/// How long a called end sleeps at most; closing wakes it earlier.
constexpr auto nap = 1s;

[[noreturn]] void fail() { throw Error(hopmeter_shm_error(), hopmeter_shm_remedy()); }

/// Where a handle's frames are: at equal distances from the first.
template <class Byte>
class Frames {
 public:
  Frames(Byte* first, Byte* second) : first_(first), distance_(second - first) {}
  std::span<Byte> at(std::int64_t slot, std::size_t payload_bytes) const {
    return {first_ + slot * distance_, header_bytes + payload_bytes};
  }

 private:
  Byte* first_;
  std::ptrdiff_t distance_;
};

class Producer final : public Publisher {
 public:
  Producer(const Link& link, const Setup& setup)
      : ring_(open(link, setup)), frames_(frame(0), frame(1)), address_(hopmeter_shm_producer_address(ring_.get())) {}

  std::string address() const override { return address_; }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    const auto slot = hopmeter_shm_producer_reserve(ring_.get(), payload_bytes);
    if (slot == HOPMETER_SHM_NOTHING) return Sent::busy;
    if (slot < 0) fail();
    fill(frames_.at(slot, payload_bytes));
    hopmeter_shm_producer_publish(ring_.get(), payload_bytes);
    return Sent::accepted;
  }

 private:
  struct Close {
    void operator()(hopmeter_shm_producer* ring) const { hopmeter_shm_producer_close(ring); }
  };
  using Ring = std::unique_ptr<hopmeter_shm_producer, Close>;

  static Ring open(const Link& link, const Setup& setup) {
    const auto slots = setup.setting<std::uint32_t>("slots");
    const bool drops = setup.setting<std::string>("when_full") == "drop_oldest";
    Ring ring(hopmeter_shm_producer_open(link.name.c_str(), slots, setup.frame_bytes() - header_bytes, drops));
    if (!ring) fail();
    return ring;
  }

  std::byte* frame(std::uint32_t slot) const {
    return reinterpret_cast<std::byte*>(hopmeter_shm_producer_frame(ring_.get(), slot));
  }

  Ring ring_;
  Frames<std::byte> frames_;
  std::string address_;
};

/// A receiving end of the ring.
class Consumer {
 public:
  Consumer(const Link& link, bool sleeps) : ring_(connect(link, sleeps)), frames_(frame(0), frame(1)) {}

  /// Hands the next frame to `use`, if it is there; whether it was.
  template <class Use>
  bool receive(const Use& use) const {
    const auto claim = hopmeter_shm_consumer_claim(ring_.get());
    if (claim == HOPMETER_SHM_NOTHING) return false;
    if (claim < 0) fail();
    const auto slot = claim & ((1 << HOPMETER_SHM_SLOT_BITS) - 1);
    use(Received::split(frames_.at(slot, static_cast<std::size_t>(claim >> HOPMETER_SHM_SLOT_BITS))));
    hopmeter_shm_consumer_release(ring_.get());
    return true;
  }

  void sleep(Timeout timeout) const {
    hopmeter_shm_consumer_sleep(ring_.get(), static_cast<std::uint64_t>(timeout.count()));
  }
  void interrupt() const { hopmeter_shm_consumer_interrupt(ring_.get()); }

 private:
  struct Close {
    void operator()(hopmeter_shm_consumer* ring) const { hopmeter_shm_consumer_close(ring); }
  };
  using Ring = std::unique_ptr<hopmeter_shm_consumer, Close>;

  static Ring connect(const Link& link, bool sleeps) {
    Ring ring(hopmeter_shm_consumer_connect(link.address.c_str(), link.name.c_str(), sleeps));
    if (!ring) fail();
    return ring;
  }

  const std::byte* frame(std::uint32_t slot) const {
    return reinterpret_cast<const std::byte*>(hopmeter_shm_consumer_frame(ring_.get(), slot));
  }

  Ring ring_;
  Frames<const std::byte> frames_;
};

class Polled final : public Subscriber {
 public:
  Polled(const Link& link, const Setup& setup)
      : sleeps_(setup.wait() != Wait::spin), consumer_(link, sleeps_), at_once_(setup.setting<std::size_t>("slots")) {}

  std::size_t poll(Timeout timeout, Take take) override {
    const auto count = drain(take);
    if (count > 0 || !sleeps_) return count;
    consumer_.sleep(timeout);
    return drain(take);
  }

 private:
  /// At most as many as the ring has, so that a poll ends even where the sender is faster.
  std::size_t drain(Take take) const {
    std::size_t count = 0;
    while (count < at_once_ && consumer_.receive(take)) ++count;
    return count;
  }

  bool sleeps_;
  Consumer consumer_;
  std::size_t at_once_;
};

/// A thread that sleeps in the ring and calls.
class Called final : public Subscription {
 public:
  Called(const Link& link, OnFrame on_frame)
      : consumer_(link, true), on_frame_(std::move(on_frame)), thread_([this](std::stop_token stop) { run(stop); }) {}
  ~Called() override {
    thread_.request_stop();
    consumer_.interrupt();
    thread_.join();
  }

 private:
  void run(const std::stop_token& stop) noexcept try {
    while (!stop.stop_requested()) {
      if (!consumer_.receive(on_frame_)) consumer_.sleep(nap);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shm: no more calls: %s\n", error.what());
  }

  Consumer consumer_;
  OnFrame on_frame_;
  std::jthread thread_;
};

class Shm final : public Transport {
 public:
  explicit Shm(const Setup& setup) : setup_(setup) {}

  static std::string version() { return hopmeter_shm_version(); }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Producer>(link, setup_); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Polled>(link, setup_); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<Called>(link, std::move(on_frame));
  }
  Facts facts() override { return {{"path", "shared memory (memfd)"}}; }

 private:
  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Shm>(argc, argv); }
