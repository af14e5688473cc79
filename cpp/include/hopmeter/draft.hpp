/// A buffer in which frames are written, for libraries that copy the bytes that they send.
#pragma once

#include <vector>

#include "hopmeter/frame.hpp"

namespace hopmeter {

class Draft {
 public:
  /// Lets `fill` write a frame into the buffer and returns the frame's bytes, which stay valid until the next call.
  std::span<const std::byte> write(std::size_t payload_bytes, Fill fill) {
    const auto bytes = header_bytes + payload_bytes;
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    const auto frame = std::span(buffer_).first(bytes);
    fill(frame);
    return frame;
  }

 private:
  std::vector<std::byte> buffer_;
};

}  // namespace hopmeter
