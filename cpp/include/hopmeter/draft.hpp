/// A buffer for writing frames, for libraries that copy the bytes they send.
#pragma once

#include <vector>

#include "hopmeter/frame.hpp"

namespace hopmeter {

class Draft {
 public:
  /// Calls `fill` to write a frame; the bytes stay valid until the next frame is written.
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
