/// Frames as they pass between the instrument and an adapter: filled when sent, borrowed when received.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <utility>

#include "hopmeter/error.hpp"

namespace hopmeter {

/// The length of a frame's header.
inline constexpr std::size_t header_bytes = HOPMETER_HEADER_BYTES;

/// The frame as the sender fills it: two parts, each a place of its own.
struct FrameMut {
  std::span<std::byte, header_bytes> header;
  std::span<std::byte> payload;

  /// Raw carriage: the first 64 bytes are the header, the rest is the payload. `whole` is at least a header long.
  static FrameMut split(std::span<std::byte> whole) {
    return {whole.first<header_bytes>(), whole.subspan(header_bytes)};
  }
};

namespace detail {

/// The instrument's clock, read right here.
inline std::int64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace detail

/// Writes one frame into memory that the transport lends. Call it once per send, on the caller's thread, and as late as
/// possible: the last thing it does is to stamp the sent time, by code that the compiler puts into the adapter's own.
/// Valid until `send` returns; copies refer to the same.
class Fill {
 public:
  explicit Fill(HopmeterFill raw) noexcept : raw_(raw) {}

  void operator()(FrameMut frame) const {
    raw_.call(raw_.context, {raw(frame.header.data()), raw(frame.payload.data()), frame.payload.size()});
    if (!raw_.sent_ns) return;
    const std::int64_t sent_ns = detail::now_ns();
    std::memcpy(frame.header.data() + HOPMETER_SENT_AT, &sent_ns, sizeof sent_ns);
    *raw_.sent_ns = sent_ns;
  }
  void operator()(std::span<std::byte> whole) const { (*this)(FrameMut::split(whole)); }

 private:
  static std::uint8_t* raw(std::byte* bytes) noexcept { return reinterpret_cast<std::uint8_t*>(bytes); }
  HopmeterFill raw_;
};

/// What a transport said to a frame. A frame that it silently drops later is loss, and measured as such.
enum class Sent : std::int32_t {
  /// The transport took the frame.
  accepted = HOPMETER_ACCEPTED,
  /// It could not without waiting (queue full, no free slot). The role offers the same message again.
  busy = HOPMETER_BUSY,
};

/// Received bytes that are kept beyond their callback: the whole frame, header first. Destroyed on any thread, also
/// after the subscriber is gone.
class Kept {
 public:
  virtual ~Kept() = default;
  virtual std::span<const std::byte> bytes() const noexcept = 0;
};

/// A received frame, borrowed: valid until the function it was given to returns.
class Received {
 public:
  explicit Received(const HopmeterReceived& raw) noexcept : raw_(raw) {}

  /// Two places. The header may be of any length, since what arrives may be foreign; the instrument checks it.
  Received(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept
      : raw_{raw(header), header.size(), raw(payload), payload.size(), nullptr, nullptr, 0} {}

  /// Raw carriage: header and payload side by side.
  static Received split(std::span<const std::byte> whole) noexcept {
    const auto header = std::min(whole.size(), header_bytes);
    return {whole.first(header), whole.subspan(header)};
  }

  /// Stamps the arrival now, unless this frame has its stamp. `OnFrame` and the others that take frames do this first.
  /// An adapter that takes a lock or looks at a queue before it calls them does this before.
  Received arrived() const noexcept {
    Received with = *this;
    if (with.raw_.arrived_ns == 0) with.raw_.arrived_ns = detail::now_ns();
    return with;
  }

  /// The same frame with the transport's own message attached, for a `forward` that moves. Borrowed like the bytes.
  Received with_native(const void* native) const noexcept {
    Received with = *this;
    with.raw_.native = native;
    return with;
  }

  /// The same frame with a way to keep it: `keep` is a function from the native message to a `unique_ptr<Kept>`.
  template <auto keep>
  Received with_keep() const noexcept {
    Received with = *this;
    with.raw_.keep = [](const void* native) { return owned(keep(native)); };
    return with;
  }

  std::span<const std::byte> header() const noexcept { return span(raw_.header, raw_.header_bytes); }
  std::span<const std::byte> payload() const noexcept { return span(raw_.payload, raw_.payload_bytes); }

  /// The native message as its adapter attached it, or null.
  template <class Message>
  const Message* native() const noexcept {
    return static_cast<const Message*>(raw_.native);
  }

  /// The native message, for a `forward` that moves it. Throws if the frame did not come by `library`.
  template <class Message>
  const Message& require_native(const char* library) const {
    if (const auto* message = native<Message>()) return *message;
    throw Error(std::string("this frame did not come by ") + library + ", so it cannot be moved on");
  }

  const HopmeterReceived& raw() const noexcept { return raw_; }

 private:
  static const std::uint8_t* raw(std::span<const std::byte> bytes) noexcept {
    return reinterpret_cast<const std::uint8_t*>(bytes.data());
  }
  static std::span<const std::byte> span(const std::uint8_t* data, std::size_t bytes) noexcept {
    return {reinterpret_cast<const std::byte*>(data), bytes};
  }
  static HopmeterKept owned(std::unique_ptr<Kept> kept) noexcept {
    if (!kept) return {};
    const auto bytes = kept->bytes();
    return {kept.release(), raw(bytes), bytes.size(), [](void* handle) { delete static_cast<Kept*>(handle); }};
  }

  HopmeterReceived raw_;
};

/// Counts a received payload that an adapter copies itself to send it on, since its library copies the whole message.
inline void count_copy() noexcept { hopmeter_count_copy(); }

/// Takes the received frames of one poll; valid until `poll` returns.
class Take {
 public:
  explicit Take(HopmeterTake raw) noexcept : raw_(raw) {}
  void operator()(const Received& received) const {
    const Received arrived = received.arrived();
    raw_.call(raw_.context, &arrived.raw());
  }

 private:
  HopmeterTake raw_;
};

/// A context that is released exactly once: the owning half of what follows.
template <class Raw>
class Owner {
 public:
  explicit Owner(Raw raw) noexcept : raw_(raw) {}
  Owner(Owner&& from) noexcept : raw_(std::exchange(from.raw_, Raw{})) {}
  Owner& operator=(Owner&& from) noexcept {
    std::swap(raw_, from.raw_);
    return *this;
  }
  ~Owner() {
    if (raw_.release) raw_.release(raw_.context);
  }

 protected:
  Raw raw_;
};

/// Entered on a thread of the transport, or on the sender's, for every frame: never concurrently for one subscription,
/// and never again once the subscription has been destroyed. Destroy it with the subscription.
class OnFrame : public Owner<HopmeterOnFrame> {
 public:
  using Owner::Owner;
  /// Not inlined, so that the stamp of the arrival is the first that happens.
  [[gnu::noinline]] void operator()(const Received& received) const {
    const Received arrived = received.arrived();
    raw_.call(raw_.context, &arrived.raw());
  }
};

/// A payload in the caller's memory, lent until this is destroyed, on any thread.
class Shared : public Owner<HopmeterShared> {
 public:
  using Owner::Owner;
  std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(raw_.data), raw_.bytes};
  }
};

}  // namespace hopmeter
