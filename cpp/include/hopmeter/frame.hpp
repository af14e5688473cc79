/// The frames that pass between the instrument and an adapter: frames that the adapter fills and sends, and frames that
/// it receives and borrows.
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

/// A frame that a sender fills. Header and payload may be in separate memory.
struct FrameMut {
  std::span<std::byte, header_bytes> header;
  std::span<std::byte> payload;

  /// Raw carriage: the first 64 bytes are the header, the rest is the payload. `whole` must have at least 64 bytes.
  static FrameMut split(std::span<std::byte> whole) {
    return {whole.first<header_bytes>(), whole.subspan(header_bytes)};
  }
};

namespace detail {

/// The current time on the instrument's clock.
inline std::int64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace detail

/// Writes one frame into the transport's memory. Call a `Fill` once per send, on the caller's thread, and as late as
/// possible: its last step, which the compiler inlines into the adapter, reads the sent time. A `Fill` is valid until
/// `send` returns; its copies refer to the same frame.
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

/// Whether a transport accepted a frame. A frame that the transport drops later counts as lost.
enum class Sent : std::int32_t {
  /// The transport accepted the frame.
  accepted = HOPMETER_ACCEPTED,
  /// The transport cannot take the frame without waiting (its queue is full or no slot is free). The role then retries
  /// the same message.
  busy = HOPMETER_BUSY,
};

/// Keeps all bytes of a received frame valid after its callback, header first. Any thread may destroy the holder, even
/// after the subscriber has been destroyed.
class FrameHolder {
 public:
  virtual ~FrameHolder() = default;
  virtual std::span<const std::byte> bytes() const noexcept = 0;
};

using Kept [[deprecated("use FrameHolder")]] = FrameHolder;

/// A received frame, which is valid until the function that receives it returns.
class Received {
 public:
  explicit Received(const HopmeterReceived& raw) noexcept : raw_(raw) {}

  /// A frame whose header and payload are in separate memory. The instrument checks the header's length, because a
  /// foreign program may have sent it.
  Received(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept
      : raw_{raw(header), header.size(), raw(payload), payload.size(), nullptr, nullptr, 0} {}

  /// Raw carriage: header and payload are contiguous in memory.
  static Received split(std::span<const std::byte> whole) noexcept {
    const auto header = std::min(whole.size(), header_bytes);
    return {whole.first(header), whole.subspan(header)};
  }

  /// Sets the arrival time to the current time, unless this frame already has an arrival time. `OnFrame` and the other
  /// functions that take frames set the arrival time first. An adapter that locks a mutex or searches a queue before it
  /// calls such a function should set the arrival time earlier.
  Received stamp_arrival() const noexcept {
    Received with = *this;
    if (with.raw_.arrived_ns == 0) with.raw_.arrived_ns = detail::now_ns();
    return with;
  }

  [[deprecated("use stamp_arrival")]] Received arrived() const noexcept { return stamp_arrival(); }

  /// Returns the same frame with the transport's own message attached, for a `forward` that moves the message. The
  /// message must stay valid as long as the frame's bytes.
  Received with_native(const void* native) const noexcept {
    Received with = *this;
    with.raw_.native = native;
    return with;
  }

  /// Returns the same frame with a function that retains it: `keep` turns the native message into a
  /// `unique_ptr<FrameHolder>`.
  template <auto keep>
  Received with_keep() const noexcept {
    Received with = *this;
    with.raw_.keep = [](const void* native) { return to_raw(keep(native)); };
    return with;
  }

  std::span<const std::byte> header() const noexcept { return span(raw_.header, raw_.header_bytes); }
  std::span<const std::byte> payload() const noexcept { return span(raw_.payload, raw_.payload_bytes); }

  /// The native message that the adapter attached, or null if there is none.
  template <class Message>
  const Message* native() const noexcept {
    return static_cast<const Message*>(raw_.native);
  }

  /// The native message, for a `forward` that moves the message. Throws if `library` did not receive this frame.
  template <class Message>
  const Message& require_native(const char* library) const {
    if (const auto* message = native<Message>()) return *message;
    throw Error(std::string("this frame did not arrive through ") + library +
                ", so it cannot be forwarded by reference");
  }

  const HopmeterReceived& raw() const noexcept { return raw_; }

 private:
  static const std::uint8_t* raw(std::span<const std::byte> bytes) noexcept {
    return reinterpret_cast<const std::uint8_t*>(bytes.data());
  }
  static std::span<const std::byte> span(const std::uint8_t* data, std::size_t bytes) noexcept {
    return {reinterpret_cast<const std::byte*>(data), bytes};
  }
  static HopmeterFrameHolder to_raw(std::unique_ptr<FrameHolder> holder) noexcept {
    if (!holder) return {};
    const auto bytes = holder->bytes();
    return {holder.release(), raw(bytes), bytes.size(), [](void* handle) { delete static_cast<FrameHolder*>(handle); }};
  }

  HopmeterReceived raw_;
};

/// Counts a payload copy that the adapter itself makes to forward a frame.
inline void count_copy() noexcept { hopmeter_count_copy(); }

/// Takes the received frames of one poll; valid until `poll` returns.
class Take {
 public:
  explicit Take(HopmeterTake raw) noexcept : raw_(raw) {}
  void operator()(const Received& received) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw());
  }

 private:
  HopmeterTake raw_;
};

/// Owns a context of the instrument and releases it exactly once.
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

/// Takes the frames of one subscription. Call an `OnFrame` with every frame, on a thread of the transport or on the
/// sender's thread. Never call an `OnFrame` concurrently. Destroy an `OnFrame` together with its subscription.
class OnFrame : public Owner<HopmeterOnFrame> {
 public:
  using Owner::Owner;
  /// Not inlined, so that the function reads the arrival time before any other code of the instrument runs.
  [[gnu::noinline]] void operator()(const Received& received) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw());
  }
};

/// A payload in the caller's memory, which stays unchanged until this object is destroyed. Any thread may destroy the
/// object.
class Shared : public Owner<HopmeterShared> {
 public:
  using Owner::Owner;
  std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(raw_.data), raw_.bytes};
  }
};

}  // namespace hopmeter
