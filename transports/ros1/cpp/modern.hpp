/// roscpp's messages and vectors name `rebind` of std::allocator, which C++20 has taken away. With these two they are
/// what they are in C++17, where they are compiled by most.
#pragma once

#include <ros/serialization.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace modern {

/// What a message takes its containers' allocators from.
struct Allocator {
  template <class Value>
  struct rebind {
    using other = std::allocator<Value>;
  };
};

}  // namespace modern

namespace ros::serialization {

/// Bytes: their number, and all of them at once.
template <>
struct VectorSerializer<std::uint8_t, std::allocator<std::uint8_t>, void> {
  using Bytes = std::vector<std::uint8_t>;

  template <class Stream>
  static void write(Stream& stream, const Bytes& bytes) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    stream.next(length);
    if (length != 0) std::memcpy(stream.advance(length), bytes.data(), length);
  }

  template <class Stream>
  static void read(Stream& stream, Bytes& bytes) {
    std::uint32_t length = 0;
    stream.next(length);
    const auto* from = stream.advance(length);
    bytes.resize(length);
    if (length != 0) std::memcpy(bytes.data(), from, length);
  }

  static std::uint32_t serializedLength(const Bytes& bytes) {
    return static_cast<std::uint32_t>(sizeof(std::uint32_t) + bytes.size());
  }
};

}  // namespace ros::serialization
