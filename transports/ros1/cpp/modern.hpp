/// roscpp's messages use `rebind` of std::allocator, which C++20 removed. The two definitions below make the messages
/// the same as in C++17, with which roscpp is usually built.
#pragma once

#include <ros/serialization.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace modern {

/// The allocator type for a message's containers.
struct Allocator {
  template <class Value>
  struct rebind {
    using other = std::allocator<Value>;
  };
};

}  // namespace modern

namespace ros::serialization {

/// Serialises a byte vector: first its length, then all bytes at once.
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
