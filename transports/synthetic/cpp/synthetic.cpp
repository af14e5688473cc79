/// The C++ adapter for the sender and the receiver in ../rust, through their C ABI; ../README.md describes the plan.
#include <limits>
#include <sstream>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/loop_thread.hpp"
#include "hopmeter/resource.hpp"
#include "hopmeter/transport_of.hpp"
#include "hopmeter_synthetic.h"

using namespace hopmeter;
using namespace std::chrono_literals;

namespace {

/// How often a callback receiver checks whether the receiver has been closed.
constexpr auto longest_wait = 50ms;

[[noreturn]] void throw_last_error() { throw Error(hopmeter_synthetic_error(), hopmeter_synthetic_remedy()); }

template <class Raw>
Raw* demand(Raw* handle) {
  if (!handle) throw_last_error();
  return handle;
}

std::int64_t demand(std::int64_t result) {
  if (result == HOPMETER_SYNTHETIC_FAILED) throw_last_error();
  return result;
}

/// All settings, as JSON.
struct Plan {
  explicit Plan(const Setup& setup) {
    std::ostringstream json;
    json.precision(std::numeric_limits<double>::max_digits10);
    json << "{\"jitter\":\"" << setup.setting<std::string>("jitter") << '"';
    for (const char* name : {"delay_us", "jitter_us", "loss", "late_us", "growth_us", "max_rate_hz"})
      json << ",\"" << name << "\":" << setup.setting<double>(name);
    for (const char* name : {"seed", "lose_every", "duplicate_every", "reorder_every", "corrupt_every", "late_every",
                             "stall_at", "stall_ms", "queue", "discovery_ms"})
      json << ",\"" << name << "\":" << setup.setting<std::int64_t>(name);
    json << '}';
    settings = json.str();
  }

  std::string settings;
};

class Sender final : public Publisher {
 public:
  Sender(const Plan& plan, const Link& link)
      : sender_(demand(hopmeter_synthetic_sender_open(link.name.c_str(), plan.settings.c_str(), link.frame_bytes))) {}

  std::string address() const override { return hopmeter_synthetic_sender_address(sender_.get()); }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    const auto memory = demand(hopmeter_synthetic_sender_reserve(sender_.get(), payload_bytes));
    if (memory == HOPMETER_SYNTHETIC_NOTHING) return Sent::busy;
    fill({reinterpret_cast<std::byte*>(memory), header_bytes + payload_bytes});
    hopmeter_synthetic_sender_publish(sender_.get(), payload_bytes);
    return Sent::accepted;
  }

 private:
  Resource<hopmeter_synthetic_sender, hopmeter_synthetic_sender_close> sender_;
};

class Receiver {
 public:
  Receiver(const Plan& plan, const Link& link, bool sleeps)
      : receiver_(demand(hopmeter_synthetic_receiver_connect(link.address.c_str(), link.name.c_str(),
                                                             plan.settings.c_str(), sleeps))) {}

  /// Passes the next due frame to `use`. Returns the number of frames, 0 or 1.
  std::size_t receive(Timeout timeout, const auto& use) const {
    const auto limit = static_cast<std::uint64_t>(timeout.count());
    const auto bytes = demand(hopmeter_synthetic_receiver_next(receiver_.get(), limit));
    if (bytes == HOPMETER_SYNTHETIC_NOTHING) return 0;
    const auto frame = hopmeter_synthetic_receiver_frame(receiver_.get());
    use(Received::split({reinterpret_cast<const std::byte*>(frame), static_cast<std::size_t>(bytes)}));
    return 1;
  }

 private:
  Resource<hopmeter_synthetic_receiver, hopmeter_synthetic_receiver_close> receiver_;
};

class Polled final : public Subscriber {
 public:
  Polled(const Plan& plan, const Link& link) : sleeps_(link.wait != Wait::spin), receiver_(plan, link, sleeps_) {}

  std::size_t poll(Timeout timeout, Take take) override { return receiver_.receive(sleeps_ ? timeout : 0ns, take); }

 private:
  bool sleeps_;
  Receiver receiver_;
};

class Called final : public Subscription {
 public:
  Called(const Plan& plan, const Link& link, OnFrame on_frame)
      : receiver_(plan, link, true),
        on_frame_(std::move(on_frame)),
        thread_([this] { receiver_.receive(longest_wait, on_frame_); }) {}

 private:
  Receiver receiver_;
  OnFrame on_frame_;
  LoopThread thread_;
};

class Synthetic final : public TransportOf<Plan, Sender, Polled, Called> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return hopmeter_synthetic_version(); }
  Facts facts() override { return {{"path", "shared memory (memfd), held according to the plan"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Synthetic>(argc, argv); }
