/// The differences between the generations of LibXR's topics, and the message type that topics carry.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <message.hpp>
#include <semaphore.hpp>
#include <type_traits>

#include "hopmeter/hopmeter.hpp"

/// The only message type of all topics, because LibXR requires a type of fixed size. Only the used part is ever written
/// or copied, so a small frame costs no more than a small type would.
struct Frame {
  static constexpr std::size_t room = hopmeter::header_bytes + (16 << 20);

  Frame() {}  // leaves the memory uninitialised
  Frame(const Frame& from) { *this = from; }
  Frame& operator=(const Frame& from) {
    std::memcpy(static_cast<void*>(this), &from, from.used());
    return *this;
  }

  std::size_t used() const noexcept { return offsetof(Frame, data) + bytes; }
  hopmeter::Received received() const noexcept {
    return hopmeter::Received::split(std::span(data).first(bytes)).with_native(this);
  }

  std::size_t bytes = 0;
  alignas(64) std::array<std::byte, room> data;
};

/// Matches LibXR topics of before spring 2026, which may cache messages and accept any part of their type.
template <class Topic>
concept SizedTopic = requires(Topic topic, Frame& frame) {
  Topic::template CreateTopic<Frame>("", nullptr, false, false, false);
  topic.Publish(static_cast<void*>(&frame), frame.used());
};

/// The type of a callback's argument.
template <class Topic>
using Bytes = std::conditional_t<SizedTopic<Topic>, LibXR::RawData&, const LibXR::ConstRawData&>;

/// Publishes a frame to all subscribers, on this thread.
template <class Topic>
void publish(Topic& topic, Frame& frame) {
  if constexpr (SizedTopic<Topic>)
    topic.Publish(static_cast<void*>(&frame), frame.used());
  else
    topic.Publish(frame);
}

/// The generations of LibXR define their error codes in different enums.
bool is_ok(auto code) noexcept { return code == decltype(code)::OK; }

/// Whether a synchronous subscriber records that it is waiting. A subscriber that records this drops frames that arrive
/// while it does not wait; in any other subscriber, each frame overwrites the previous frame.
template <class Subscriber>
concept KnowsItWaits = requires(Subscriber subscriber) {
  subscriber.block_->data_.wait_state;
};

template <class Subscriber>
bool is_waiting(const Subscriber& subscriber) {
  auto& block = subscriber.block_->data_;
  return block.wait_state.load() == std::remove_reference_t<decltype(block)>::WAITING;
}
