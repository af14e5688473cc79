/// Frames in messages: what all message types have in common. A transport says of each of its types where things are:
///
///   struct Picture {
///     using Sample = message_Image;                                        // as idlc has made it
///     static constexpr const dds_topic_descriptor_t& type = message_Image_desc;
///     static std::string topic(const std::string& link);
///     static void shape(Sample&, const hopmeter::Setup&);                  // what never changes
///     static auto& text(auto& sample);                                     // the field for the label
///     static auto& octets(auto& sample);                                   // the field for the payload; may be absent
///     static void stamp(Sample&, std::uint64_t seq, std::int64_t sent_ns);
///     static std::int64_t sent_ns(const Sample&);
///   };
#pragma once

#include <dds/dds.h>

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

namespace cyclone {

/// Writes a time into seconds and nanoseconds, as ROS has them.
void set_time(auto& time, std::int64_t ns) {
  time.sec = static_cast<std::int32_t>(ns / 1'000'000'000);
  time.nanosec = static_cast<std::uint32_t>(ns % 1'000'000'000);
}

inline std::int64_t nanoseconds(const auto& time) { return time.sec * std::int64_t{1'000'000'000} + time.nanosec; }

/// Says what never changes of a picture: three bytes a pixel.
void set_shape(auto& picture, std::uint32_t height, std::uint32_t width) {
  static char rgb8[] = "rgb8";
  picture.encoding = rgb8;
  picture.height = height;
  picture.width = width;
  picture.step = 3 * width;
}

/// Whether a type has a field that a payload travels in.
template <class Message>
concept Loaded = requires(typename Message::Sample sample) {
  Message::octets(sample);
};

/// The message that is sent, kept so that its memory is.
template <class Message>
class Outgoing {
 public:
  explicit Outgoing(const hopmeter::Setup& setup) {
    Message::shape(sample_, setup);
    Message::text(sample_) = text_;
  }
  Outgoing(const Outgoing&) = delete;

  const typename Message::Sample& filled(std::size_t payload_bytes, hopmeter::Fill fill) {
    hopmeter::Header header;
    fill({header, payload(payload_bytes)});
    const auto label = hopmeter::label(header);
    std::memcpy(text_, label.data(), label.size());
    Message::stamp(sample_, hopmeter::seq_of(header), hopmeter::sent_of(header));
    return sample_;
  }

 private:
  std::span<std::byte> payload(std::size_t payload_bytes) {
    if constexpr (Loaded<Message>) {
      if (payload_.size() < payload_bytes) payload_.resize(payload_bytes);
      auto& octets = Message::octets(sample_);
      octets._buffer = reinterpret_cast<std::uint8_t*>(payload_.data());
      octets._length = octets._maximum = static_cast<std::uint32_t>(payload_bytes);
    } else if (payload_bytes != 0) {
      throw hopmeter::Error("this message has no field for a payload of " + std::to_string(payload_bytes) + " bytes",
                            "ask for the payload `bytes`, or for timing without padding");
    }
    return std::span(payload_).first(payload_bytes);
  }

  typename Message::Sample sample_{};
  char text_[hopmeter::label_bytes + 1]{};
  std::vector<std::byte> payload_;
};

/// A message that has arrived, as the instrument sees it.
template <class Message>
void hand(const typename Message::Sample& sample, const auto& hand_over) {
  std::span<const std::uint8_t> octets;
  if constexpr (Loaded<Message>) octets = {Message::octets(sample)._buffer, Message::octets(sample)._length};
  const auto payload = std::as_bytes(octets);
  const auto header = hopmeter::header_of(Message::text(sample), Message::sent_ns(sample), payload.size());
  hand_over(hopmeter::Received(header, payload).with_native(&sample));
}

}  // namespace cyclone
