/// Frames in messages: what all message types have in common. A transport says of each of its types where things are:
///
///   struct Picture {
///     using Support = message::ImagePubSubType;              // as fastddsgen has made it
///     static std::string topic(const std::string& link);
///     static void shape(auto& sample, const hopmeter::Setup&);   // what never changes
///     static auto& text(auto& sample);                       // the field for the label
///     static auto& octets(auto& sample);                     // the field for the payload; may be absent
///     static auto length(auto& sample);                      // how many octets count, where they are an array
///     static void length(auto& sample, std::uint32_t bytes);
///     static void stamp(auto& sample, std::uint64_t seq, std::int64_t sent_ns);
///     static std::int64_t sent_ns(const auto& sample);
///   };
#pragma once

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

#include <algorithm>
#include <span>

#include "participant.hpp"

namespace fastdds {

template <class Message>
using Sample = typename Message::Support::type;

/// Whether a type has a field that a payload travels in.
template <class Message>
concept Loaded = requires(Sample<Message> sample) {
  Message::octets(sample);
};

/// Whether a message is of fixed size and without pointers, so that its memory can be lent and shared.
template <class Message>
concept Plain = requires(Sample<Message> sample) {
  Message::length(sample);
};

/// Writes a time into seconds and nanoseconds, as ROS has them.
void set_time(auto& time, std::int64_t ns) {
  time.sec(static_cast<std::int32_t>(ns / 1'000'000'000));
  time.nanosec(static_cast<std::uint32_t>(ns % 1'000'000'000));
}

inline std::int64_t nanoseconds(const auto& time) { return time.sec() * std::int64_t{1'000'000'000} + time.nanosec(); }

/// Says what never changes of a picture: three bytes a pixel.
void set_shape(auto& picture, const hopmeter::Setup& setup) {
  picture.height(setup.height());
  picture.width(setup.width());
  picture.step(3 * setup.width());
  auto& encoding = picture.encoding();
  if constexpr (requires { encoding.assign("rgb8"); })
    encoding.assign("rgb8");
  else
    encoding = {'r', 'g', 'b', '8'};
}

template <class Message>
Place place(const std::string& topic) {
  fast::TypeSupport type(new typename Message::Support);
  // Peers need no description of a type to match its name; Cyclone DDS 0.10 crashes on one that it does not expect.
  type->auto_fill_type_object(false);
  type->auto_fill_type_information(false);
  return {topic, type};
}

/// The payload field at this length. A sequence grows once and keeps its memory.
template <class Message>
std::span<std::byte> payload(Sample<Message>& sample, std::size_t payload_bytes) {
  if constexpr (Loaded<Message>) {
    if constexpr (Plain<Message>)
      Message::length(sample, static_cast<std::uint32_t>(payload_bytes));
    else
      Message::octets(sample).resize(payload_bytes);
    return std::as_writable_bytes(std::span(Message::octets(sample))).first(payload_bytes);
  } else {
    if (payload_bytes == 0) return {};
    throw hopmeter::Error("this message has no field for a payload of " + std::to_string(payload_bytes) + " bytes",
                          "ask for the payload `bytes`, or for timing without padding");
  }
}

/// The payload that has come. A length beyond the field is damage; the header's own length tells it from a sound one.
template <class Message>
std::span<const std::byte> payload(const Sample<Message>& sample) {
  if constexpr (Loaded<Message>) {
    const auto whole = std::as_bytes(std::span(Message::octets(sample)));
    if constexpr (Plain<Message>) return whole.first(std::min<std::size_t>(Message::length(sample), whole.size()));
    return whole;
  } else {
    return {};
  }
}

/// Lets `fill` write a frame into a message.
template <class Message>
void fill_in(Sample<Message>& sample, std::size_t payload_bytes, hopmeter::Fill fill) {
  hopmeter::Header header;
  fill({header, payload<Message>(sample, payload_bytes)});
  const auto label = hopmeter::label(header);
  auto& text = Message::text(sample);
  if constexpr (requires { text.assign(label.data(), label.size()); })
    text.assign(label.data(), label.size());
  else
    text = label;
  Message::stamp(sample, hopmeter::seq_of(header), hopmeter::sent_of(header));
}

/// A message that has arrived, as the instrument sees it.
template <class Message>
void hand(const Sample<Message>& sample, const auto& hand_over) {
  const auto& label = Message::text(sample);
  const auto octets = payload<Message>(sample);
  const auto header = hopmeter::header_of({label.data(), label.size()}, Message::sent_ns(sample), octets.size());
  hand_over(hopmeter::Received(header, octets).with_native(&sample));
}

}  // namespace fastdds
