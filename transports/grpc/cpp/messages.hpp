/// The messages of ../idl: their fields for a frame, and their service methods.
#pragma once

#include <grpcpp/grpcpp.h>

#include "hopmeter.grpc.pb.h"
#include "hopmeter/message.hpp"

using hopmeter::wire::Image;
using hopmeter::wire::Timing;
using Service = hopmeter::wire::Link::Service;
using Stub = hopmeter::wire::Link::Stub;
/// A subscriber's request for a stream.
using StreamRequest = hopmeter::wire::Receiver;

template <class Message>
struct Layout;

template <>
struct Layout<Timing> {
  static void shape(Timing&, const hopmeter::Link&) {}
  static auto& text(Timing& message) { return *message.mutable_source(); }
  static auto& text(const Timing& message) { return message.source(); }
  static auto& octets(Timing& message) { return *message.mutable_padding(); }
  static auto& octets(const Timing& message) { return message.padding(); }
  static void stamp(Timing& message, std::uint64_t seq, std::int64_t sent_ns) {
    message.set_id(seq);
    message.set_nanosec(sent_ns);
  }
  static std::int64_t sent_ns(const Timing& message) { return message.nanosec(); }
};

template <>
struct Layout<Image> {
  static void shape(Image& message, const hopmeter::Link& link) {
    message.set_height(link.height);
    message.set_width(link.width);
    message.set_encoding("rgb8");
    message.set_step(link.width * 3);
  }
  static auto& text(Image& message) { return *message.mutable_frame_id(); }
  static auto& text(const Image& message) { return message.frame_id(); }
  static auto& octets(Image& message) { return *message.mutable_data(); }
  static auto& octets(const Image& message) { return message.data(); }
  static void stamp(Image& message, std::uint64_t, std::int64_t sent_ns) { message.set_nanosec(sent_ns); }
  static std::int64_t sent_ns(const Image& message) { return message.nanosec(); }
};

/// Lets `fill` write a frame into a message.
template <class Message>
void write(Message& message, const hopmeter::Link& link, std::size_t payload_bytes, hopmeter::Fill fill) {
  Layout<Message>::shape(message, link);
  hopmeter::write_message<Layout<Message>>(message, payload_bytes, fill);
}

/// The generated service methods for a message type.
template <class Message>
struct Methods;

template <>
struct Methods<Timing> {
  using CallService = hopmeter::wire::Link::WithAsyncMethod_CallTiming<Service>;
  static constexpr auto call = &Stub::AsyncCallTiming;
  static constexpr auto request = &CallService::RequestCallTiming;
  static constexpr auto read = &Stub::AsyncStreamTiming;
  static void react(Stub& stub, auto&&... arguments) { stub.async()->StreamTiming(arguments...); }
};

template <>
struct Methods<Image> {
  using CallService = hopmeter::wire::Link::WithAsyncMethod_CallImage<Service>;
  static constexpr auto call = &Stub::AsyncCallImage;
  static constexpr auto request = &CallService::RequestCallImage;
  static constexpr auto read = &Stub::AsyncStreamImage;
  static void react(Stub& stub, auto&&... arguments) { stub.async()->StreamImage(arguments...); }
};
