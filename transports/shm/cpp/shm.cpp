/// The C++ adapter for the ring in ../rust, through the ring's C ABI; ../README.md describes the ring.
#include "hopmeter_shm.h"

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/loop_thread.hpp"
#include "hopmeter/resource.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;

namespace {

/// The longest sleep of a callback receiver; closing the receiver interrupts the sleep.
constexpr auto nap = 1s;

[[noreturn]] void throw_last_error() { throw Error(hopmeter_shm_error(), hopmeter_shm_remedy()); }

/// A library handle, with the address of the first frame and the distance between frames.
template <class Raw, auto destroy, auto frame, class Byte>
class Ring {
 public:
  explicit Ring(Raw* raw) : raw_(raw) {
    if (!raw) throw_last_error();
    first_ = reinterpret_cast<Byte*>(frame(raw, 0));
    distance_ = reinterpret_cast<Byte*>(frame(raw, 1)) - first_;
  }

  Raw* operator*() const noexcept { return raw_.get(); }
  std::span<Byte> frame_at(std::int64_t slot, std::size_t payload_bytes) const {
    return {first_ + slot * distance_, header_bytes + payload_bytes};
  }

 private:
  Resource<Raw, destroy> raw_;
  Byte* first_;
  std::ptrdiff_t distance_;
};

class Producer final : public Publisher {
 public:
  Producer(const Setup& setup, const Link& link)
      : ring_(hopmeter_shm_producer_open(link.name.c_str(), setup.setting<std::uint32_t>("slots"),
                                         link.frame_bytes - header_bytes,
                                         setup.setting<std::string>("when_full") == "drop_oldest")) {}

  std::string address() const override { return hopmeter_shm_producer_address(*ring_); }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    const auto slot = hopmeter_shm_producer_reserve(*ring_, payload_bytes);
    if (slot == HOPMETER_SHM_NOTHING) return Sent::busy;
    if (slot < 0) throw_last_error();
    fill(ring_.frame_at(slot, payload_bytes));
    hopmeter_shm_producer_publish(*ring_, payload_bytes);
    return Sent::accepted;
  }

 private:
  Ring<hopmeter_shm_producer, hopmeter_shm_producer_close, hopmeter_shm_producer_frame, std::byte> ring_;
};

/// A receiver of the ring.
class Consumer {
 public:
  Consumer(const Link& link, bool sleeps)
      : ring_(hopmeter_shm_consumer_connect(link.address.c_str(), link.name.c_str(), sleeps)) {}

  /// Passes the next frame to `use`, if there is one. Returns whether there was a frame.
  template <class Use>
  bool receive(const Use& use) const {
    const auto claim = hopmeter_shm_consumer_claim(*ring_);
    if (claim == HOPMETER_SHM_NOTHING) return false;
    if (claim < 0) throw_last_error();
    const auto slot = claim & ((1 << HOPMETER_SHM_SLOT_BITS) - 1);
    use(Received::split(ring_.frame_at(slot, static_cast<std::size_t>(claim >> HOPMETER_SHM_SLOT_BITS))));
    hopmeter_shm_consumer_release(*ring_);
    return true;
  }

  void sleep(Timeout timeout) const {
    hopmeter_shm_consumer_sleep(*ring_, static_cast<std::uint64_t>(timeout.count()));
  }
  void interrupt() const { hopmeter_shm_consumer_interrupt(*ring_); }

 private:
  Ring<hopmeter_shm_consumer, hopmeter_shm_consumer_close, hopmeter_shm_consumer_frame, const std::byte> ring_;
};

class Polled final : public Subscriber {
 public:
  Polled(const Setup& setup, const Link& link)
      : sleeps_(link.wait != Wait::spin), consumer_(link, sleeps_), most_(setup.setting<std::size_t>("slots")) {}

  std::size_t poll(Timeout timeout, Take take) override {
    const auto count = drain(take);
    if (count > 0 || !sleeps_) return count;
    consumer_.sleep(timeout);
    return drain(take);
  }

 private:
  /// Takes at most as many frames as the ring has slots, so that a poll ends even if the sender is faster.
  std::size_t drain(Take take) const {
    std::size_t count = 0;
    while (count < most_ && consumer_.receive(take)) ++count;
    return count;
  }

  bool sleeps_;
  Consumer consumer_;
  std::size_t most_;
};

/// A receiver with a callback on a thread that sleeps in the ring.
class Called final : public Subscription {
 public:
  Called(const Setup&, const Link& link, OnFrame on_frame)
      : consumer_(link, true),
        on_frame_(std::move(on_frame)),
        thread_([this] { step(); }, [this] { consumer_.interrupt(); }) {}

 private:
  void step() const {
    if (!consumer_.receive(on_frame_)) consumer_.sleep(nap);
  }

  Consumer consumer_;
  OnFrame on_frame_;
  LoopThread thread_;
};

class Shm final : public TransportOf<Setup, Producer, Polled, Called> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return hopmeter_shm_version(); }
  Facts facts() override { return {{"path", "shared memory (memfd)"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Shm>(argc, argv); }
