/// Typed carriage: carries frames in the fields of an adapter's message types. The adapter describes each message type
/// in a layout:
///
///   struct Picture {
///     static void shape(auto& message, const Link&);                               // sets all constant fields
///     static auto& text(auto& message);                                            // the field for the label
///     static auto& octets(auto& message);                                          // the payload's field, if any
///     static std::uint32_t length(const auto& message);                            // used bytes of an array
///     static void length(auto& message, std::uint32_t bytes);                      // sets the used bytes
///     static void stamp(auto& message, std::uint64_t seq, std::int64_t sent_ns);   // sets the other fields
///     static std::int64_t sent_ns(const auto& message);
///   };
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

namespace hopmeter {

/// A layout that has a field for a payload.
template <class Layout, class Message>
concept HasPayload = requires(Message message) {
  Layout::octets(message);
};

/// A layout of a message type with a fixed size and no pointers, so that its memory can be loaned and shared.
template <class Layout, class Message>
concept FixedSize = requires(const Message message) {
  Layout::length(message);
};

/// Stores a time as seconds and nanoseconds, as in ROS, either in fields or through setter functions.
void set_time(auto& time, std::int64_t ns) {
  const auto sec = static_cast<std::int32_t>(ns / 1'000'000'000);
  const auto nanosec = static_cast<std::uint32_t>(ns % 1'000'000'000);
  if constexpr (requires { time.sec(sec); }) {
    time.sec(sec);
    time.nanosec(nanosec);
  } else {
    time.sec = sec;
    time.nanosec = nanosec;
  }
}

inline std::int64_t nanoseconds(const auto& time) {
  constexpr std::int64_t second = 1'000'000'000;
  if constexpr (requires { time.sec(); })
    return time.sec() * second + time.nanosec();
  else
    return time.sec * second + time.nanosec;
}

/// Sets the length of the payload field. Shortening a sequence does not free its memory.
template <class Layout, class Message>
std::span<std::byte> payload_field(Message& message, std::size_t bytes) {
  if constexpr (FixedSize<Layout, Message>) {
    Layout::length(message, static_cast<std::uint32_t>(bytes));
    return std::as_writable_bytes(std::span(Layout::octets(message))).first(bytes);
  } else if constexpr (HasPayload<Layout, Message>) {
    Layout::octets(message).resize(bytes);
    return std::as_writable_bytes(std::span(Layout::octets(message)));
  } else {
    if (bytes == 0) return {};
    throw Error("this message has no field for a payload of " + std::to_string(bytes) + " bytes",
                "use the payload `bytes`, or a payload `timing` without padding");
  }
}

/// The payload of a received message. If a corrupt length exceeds the array, the instrument detects the mismatch with
/// the header.
template <class Layout, class Message>
std::span<const std::byte> payload_of(const Message& message) {
  if constexpr (FixedSize<Layout, Message>) {
    const auto whole = std::as_bytes(std::span(Layout::octets(message)));
    return whole.first(std::min<std::size_t>(Layout::length(message), whole.size()));
  } else if constexpr (HasPayload<Layout, Message>) {
    return std::as_bytes(std::span(Layout::octets(message)));
  } else {
    return {};
  }
}

/// Lets `fill` write a frame: the payload into `payload`, the header into the message's fields. The label is written
/// last, because it is computed from the complete header.
template <class Layout>
void write_message(auto& message, std::span<std::byte> payload, Fill fill) {
  Header header;
  fill({header, payload});
  put_label(header, Layout::text(message));
  Layout::stamp(message, seq_of(header), sent_of(header));
}

/// Like the overload with `payload`, but writes the payload into the message's own field.
template <class Layout>
void write_message(auto& message, std::size_t payload_bytes, Fill fill) {
  write_message<Layout>(message, payload_field<Layout>(message, payload_bytes), fill);
}

/// Passes a received message to `take` as a frame with its payload, and attaches `native` for a later `forward`.
template <class Layout>
void hand_over(const auto& message, std::span<const std::byte> payload, const auto& take, const void* native) {
  const auto header = header_of(label_in(Layout::text(message)), Layout::sent_ns(message), payload.size());
  take(Received(header, payload).with_native(native));
}

/// Like the overload with `payload`, but reads the payload from the message's own field.
template <class Layout>
void hand_over(const auto& message, const auto& take, const void* native) {
  hand_over<Layout>(message, payload_of<Layout>(message), take, native);
}

template <class Layout>
void hand_over(const auto& message, const auto& take) {
  hand_over<Layout>(message, take, &message);
}

/// Writes the reply to a request into a message, which the library sends after the handler returns.
template <class Layout, class Message>
class MessageReplier final : public Replier {
 public:
  MessageReplier(const Link& link, const Message& request, Message& reply)
      : link_(link), request_(request), reply_(reply) {}

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    Layout::shape(reply_, link_);
    write_message<Layout>(reply_, payload_bytes, fill);
    has_reply_ = true;
    return Sent::accepted;
  }

  /// Copies the whole request, so the reply's fields need not be written again.
  Sent forward(const Received& received) override {
    if (received.native<Message>() != &request_) return Replier::forward(received);
    reply_ = request_;
    count_copy();
    has_reply_ = true;
    return Sent::accepted;
  }

  bool has_reply() const noexcept { return has_reply_; }

 private:
  const Link& link_;
  const Message& request_;
  Message& reply_;
  bool has_reply_ = false;
};

}  // namespace hopmeter
