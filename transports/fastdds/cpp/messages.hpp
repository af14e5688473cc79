/// The messages: where a frame's header and payload are in each of them. ../README.md has the table.
#pragma once

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

#include <algorithm>
#include <string_view>

#include "hopmeterPubSubTypes.h"

/// Whether a message is of fixed size and without pointers, so that its memory can be lent and shared.
template <class Message>
concept Plain = requires(Message message) {
  message.length();
};

template <class Message>
concept Stamped = requires(Message message) {
  message.stamp();
};

template <class Message>
concept Picture = requires(Message message) {
  message.frame_id();
};

/// What fastddsgen has generated for a message.
template <class Message>
struct Generated;
template <>
struct Generated<message::Timing> : std::type_identity<message::TimingPubSubType> {};
template <>
struct Generated<message::Image> : std::type_identity<message::ImagePubSubType> {};
template <>
struct Generated<message::PlainTiming> : std::type_identity<message::PlainTimingPubSubType> {};
template <>
struct Generated<message::PlainImage> : std::type_identity<message::PlainImagePubSubType> {};

/// The field that the label travels in.
template <class Message>
auto& text(Message& message) {
  if constexpr (Picture<Message>)
    return message.frame_id();
  else
    return message.source();
}

/// The field that the payload travels in.
template <class Message>
auto& octets(Message& message) {
  if constexpr (Picture<Message>)
    return message.data();
  else
    return message.padding();
}

/// Says what never changes: the shape of a picture.
template <class Message>
void prepare(Message& message, const hopmeter::Setup& setup) {
  if constexpr (Picture<Message>) {
    message.height(setup.height());
    message.width(setup.width());
    message.step(3 * setup.width());
    auto& encoding = message.encoding();
    if constexpr (Plain<Message>)
      encoding = {'r', 'g', 'b', '8'};
    else
      encoding = "rgb8";
  }
}

/// The payload field at this length. A sequence grows once and keeps its memory.
template <class Message>
std::span<std::byte> payload(Message& message, std::size_t payload_bytes) {
  if constexpr (Plain<Message>)
    message.length(static_cast<std::uint32_t>(payload_bytes));
  else
    octets(message).resize(payload_bytes);
  return std::as_writable_bytes(std::span(octets(message))).first(payload_bytes);
}

/// The payload that has come. A length beyond the field is damage; the header's own length tells it from a sound one.
template <class Message>
std::span<const std::byte> payload(const Message& message) {
  const auto whole = std::as_bytes(std::span(octets(message)));
  if constexpr (Plain<Message>)
    return whole.first(std::min<std::size_t>(message.length(), whole.size()));
  else
    return whole;
}

/// Lets `fill` write a frame into the message.
template <class Message>
void fill_in(Message& message, std::size_t payload_bytes, hopmeter::Fill fill) {
  hopmeter::Header header;
  fill({header, payload(message, payload_bytes)});
  const auto label = hopmeter::label(header);
  if constexpr (Plain<Message>)
    text(message) = label;
  else
    text(message).assign(label.data(), label.size());
  const auto sent_ns = hopmeter::sent_of(header);
  if constexpr (Stamped<Message>) {
    message.stamp().sec(static_cast<std::int32_t>(sent_ns / 1'000'000'000));
    message.stamp().nanosec(static_cast<std::uint32_t>(sent_ns % 1'000'000'000));
  } else {
    message.nanosec(sent_ns);
  }
  if constexpr (!Picture<Message>) message.id(hopmeter::seq_of(header));
}

/// The header that the message carried.
template <class Message>
hopmeter::Header header(const Message& message) {
  const auto& label = text(message);
  std::int64_t sent_ns;
  if constexpr (Stamped<Message>)
    sent_ns = message.stamp().sec() * std::int64_t{1'000'000'000} + message.stamp().nanosec();
  else
    sent_ns = message.nanosec();
  return hopmeter::header_of({label.data(), label.size()}, sent_ns, payload(message).size());
}
