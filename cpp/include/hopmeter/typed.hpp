/// Typed carriage: stores a frame's header in the fields of a message. The message has a number, a time and a text. The
/// text is an ASCII label of fixed length that encodes the rest of the header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hopmeter/frame.hpp"

namespace hopmeter {

/// The length of a label.
inline constexpr std::size_t label_bytes = HOPMETER_LABEL_BYTES;

/// The label that a message carries in its text.
struct Label : std::array<char, label_bytes> {
  operator std::string_view() const noexcept { return {data(), size()}; }
};

/// A frame's header.
using Header = std::array<std::byte, header_bytes>;

namespace detail {

inline const std::uint8_t* raw(std::span<const std::byte, header_bytes> header) noexcept {
  return reinterpret_cast<const std::uint8_t*>(header.data());
}

}  // namespace detail

/// Returns the label for a header.
inline Label label(std::span<const std::byte, header_bytes> header) noexcept {
  Label text;
  hopmeter_label(detail::raw(header), reinterpret_cast<std::uint8_t*>(text.data()));
  return text;
}

/// Writes the label for a header directly into a message's text: a string, an array, or a pointer to memory with enough
/// room for the label.
void put_label(std::span<const std::byte, header_bytes> header, auto& text) {
  if constexpr (requires { text.resize(label_bytes); }) text.resize(label_bytes);
  if constexpr (requires { *text; })
    hopmeter_label(detail::raw(header), reinterpret_cast<std::uint8_t*>(text));
  else
    hopmeter_label(detail::raw(header), reinterpret_cast<std::uint8_t*>(std::data(text)));
}

/// The text of a received message, which is a string, an array, or a pointer.
std::string_view label_in(const auto& text) noexcept {
  if constexpr (requires { *text; })
    return text;
  else
    return {reinterpret_cast<const char*>(std::data(text)), std::size(text)};
}

/// Restores a frame's header from a message. If the text is not a label, every receiver refuses the header as
/// malformed. The header contains the sent time instead of the due time, because only the source has recorded the due
/// time.
inline Header header_of(std::string_view label, std::int64_t sent_ns, std::size_t payload_bytes) noexcept {
  Header header;
  hopmeter_header_of(reinterpret_cast<const std::uint8_t*>(label.data()), label.size(), sent_ns, payload_bytes,
                     reinterpret_cast<std::uint8_t*>(header.data()));
  return header;
}

/// The message's number.
inline std::uint64_t seq_of(std::span<const std::byte, header_bytes> header) noexcept {
  return hopmeter_seq_of(detail::raw(header));
}

/// Whether the receiver checks the message's payload. An adapter that encodes payloads itself must compare a checked
/// message with the sent message before passing on the payload.
inline bool is_checked(std::span<const std::byte, header_bytes> header) noexcept {
  return hopmeter_is_checked(detail::raw(header));
}

/// When the message was sent, in nanoseconds.
inline std::int64_t sent_of(std::span<const std::byte, header_bytes> header) noexcept {
  return hopmeter_sent_of(detail::raw(header));
}

}  // namespace hopmeter
