/// Messages of the user's own type as objects that the rmw encodes. ../README.md describes where a frame's header is
/// stored.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <rclcpp/serialization.hpp>
#include <rclcpp/serialized_message.hpp>
#include <vector>

#include "message.hpp"

namespace ros2 {

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw hopmeter::Error("cannot read " + path, "run `hopmeter build --message` again");
  const auto seen = std::as_bytes(std::span(bytes));
  return {seen.begin(), seen.end()};
}

/// Returns a message that is already encoded in CDR.
inline rclcpp::SerializedMessage serialized(std::span<const std::byte> octets) {
  rclcpp::SerializedMessage message(octets.size());
  auto& raw = message.get_rcl_serialized_message();
  std::memcpy(raw.buffer, octets.data(), octets.size());
  raw.buffer_length = octets.size();
  return message;
}

inline std::span<std::byte> octets_of(const rclcpp::SerializedMessage& message) {
  const auto& raw = message.get_rcl_serialized_message();
  return {reinterpret_cast<std::byte*>(raw.buffer), raw.buffer_length};
}

/// The frames of a link in messages of the user's type, which the rmw encodes. A frame's header is in the message's own
/// header field, or in a wrapper message. A received message is correct if it encodes to the same octets as the sent
/// message.
template <class Type, class Framed, class Call, bool has_header>
class OwnFrames {
 public:
  using Message = std::conditional_t<has_header, Type, Framed>;
  using Service = Call;

  explicit OwnFrames(const hopmeter::Link& link) : OwnFrames(link, link.message_object) {}

  /// Reads the message, which represents the payload of the link, from the file `object`.
  OwnFrames(const hopmeter::Link& link, const std::string& object) : payload_(read_file(link.message_object)) {
    const auto encoded = read_file(object);
    const auto octets = serialized(encoded);
    rclcpp::Serialization<Type>().deserialize_message(&octets, &value(sent_));
    message_bytes_ = encoded.size();
    expected_ = encode(value(sent_));
  }

  /// Returns the message in a request or a response.
  static auto& message_in(auto& part) { return part.it; }

  void prepare(Message& message) const { message = sent_; }

  void write(Message& message, std::size_t bytes, hopmeter::Fill fill) const {
    if (bytes != payload_.size())
      throw hopmeter::Error("a frame of " + std::to_string(bytes) + " bytes cannot be a message of " +
                                std::to_string(payload_.size()) + " bytes",
                            "use reply = \"echo\", so that replies are whole messages");
    hopmeter::Header header;
    thread_local std::vector<std::byte> scratch;
    scratch.resize(bytes);
    fill({header, scratch});
    if constexpr (has_header)
      write_header(header, message.header.stamp, message.header.frame_id);
    else
      write_header(header, message.stamp, message.label);
  }

  void read(const Message& message, const auto& native, const auto& hand_over) const {
    const auto header = header_in(message);
    auto received = hopmeter::Received(header, payload_).with_native(&native).stamp_arrival();
    if (!hopmeter::is_checked(header) || is_sent(value(message))) return hand_over(received);
    const std::vector<std::byte> other(payload_.size());
    hand_over(hopmeter::Received(header, other).with_native(&native));
  }

 private:
  static auto& value(auto& message) {
    if constexpr (has_header)
      return message;
    else
      return message.value;
  }

  hopmeter::Header header_in(const Message& message) const {
    if constexpr (has_header) {
      return read_header(message.header.stamp, std::as_bytes(std::span(message.header.frame_id)), payload_.size());
    } else {
      const auto label = std::as_bytes(std::span(message.label)).template first<hopmeter::label_bytes>();
      return read_header(message.stamp, label, payload_.size());
    }
  }

  bool is_sent(Type came) const {
    if constexpr (has_header) came.header = sent_.header;
    return encode(came) == expected_;
  }

  /// Returns the octets of a message, in zeroed memory, because encoders skip the padding between fields.
  std::vector<std::byte> encode(const Type& message) const {
    rclcpp::SerializedMessage into(2 * message_bytes_ + 1024);
    auto& raw = into.get_rcl_serialized_message();
    std::memset(raw.buffer, 0, raw.buffer_capacity);
    rclcpp::Serialization<Type>().serialize_message(&message, &into);
    const auto octets = octets_of(into);
    return {octets.begin(), octets.end()};
  }

  std::vector<std::byte> payload_, expected_;
  std::size_t message_bytes_ = 0;
  Message sent_;
};

}  // namespace ros2
