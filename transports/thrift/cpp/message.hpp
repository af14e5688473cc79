/// Frames as messages of hopmeter.thrift: which field takes what of the header stands in ../README.md.
#pragma once

#include <Exchange.h>

#include <hopmeter/hopmeter.hpp>
#include <hopmeter/typed.hpp>
#include <span>
#include <string>

namespace carriage {

using hopmeter::Fill;
using hopmeter::FrameMut;
using hopmeter::Header;
using hopmeter::Received;
using hopmeter::idl::Image;
using hopmeter::idl::Timing;

inline constexpr std::int64_t second_ns = 1'000'000'000;

/// How many pixels an image is said to have.
struct Shape {
  std::int32_t width = 0, height = 0;
};

inline std::string& payload_of(Timing& message) { return message.padding; }
inline std::string& payload_of(Image& message) { return message.data; }
inline const std::string& payload_of(const Timing& message) { return message.padding; }
inline const std::string& payload_of(const Image& message) { return message.data; }

inline void put(Timing& message, const Header& header, Shape) {
  message.id = static_cast<std::int64_t>(hopmeter::seq_of(header));
  message.nanosec = hopmeter::sent_of(header);
  hopmeter::put_label(header, message.source);
}

inline void put(Image& message, const Header& header, Shape shape) {
  const auto sent_ns = hopmeter::sent_of(header);
  message.stamp.sec = sent_ns / second_ns;
  message.stamp.nanosec = static_cast<std::int32_t>(sent_ns % second_ns);
  hopmeter::put_label(header, message.frame_id);
  message.width = shape.width;
  message.height = shape.height;
  message.encoding = "rgb8";
  message.step = 3 * shape.width;
}

inline Header header_of(const Timing& message) {
  return hopmeter::header_of(message.source, message.nanosec, message.padding.size());
}

inline Header header_of(const Image& message) {
  const auto sent_ns = message.stamp.sec * second_ns + message.stamp.nanosec;
  return hopmeter::header_of(message.frame_id, sent_ns, message.data.size());
}

/// Has a frame written: the payload into the message's own field, the header into its other fields.
template <class Message>
void write(Message& message, std::size_t payload_bytes, Fill fill, Shape shape) {
  Header header;
  auto& payload = payload_of(message);
  payload.resize(payload_bytes);
  fill(FrameMut{header, std::as_writable_bytes(std::span(payload))});
  put(message, header, shape);
}

/// Hands the frame that a message carries to `taker`; the bytes are the message's, which is attached.
template <class Message>
void read(const Message& message, auto&& taker) {
  const Header header = header_of(message);
  taker(Received(header, std::as_bytes(std::span(payload_of(message)))).with_native(&message));
}

}  // namespace carriage
