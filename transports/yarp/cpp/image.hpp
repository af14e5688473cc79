/// Stores a frame in a one-row image: the row's bytes are the frame, header first.
#pragma once

#include <yarp/sig/Image.h>

#include <span>

#include "hopmeter/hopmeter.hpp"

namespace yarps {

using Image = yarp::sig::ImageOf<yarp::sig::PixelMono>;

/// Lets `fill` write a frame into an image, which keeps its memory if the frame size stays the same.
inline void write(Image& image, std::size_t payload_bytes, hopmeter::Fill fill) {
  const auto bytes = hopmeter::header_bytes + payload_bytes;
  image.setQuantum(1);
  image.resize(bytes, 1);
  fill(std::span(reinterpret_cast<std::byte*>(image.getRawImage()), bytes));
}

/// Returns an image's frame, borrowed from the image.
inline hopmeter::Received frame(const Image& image) {
  const auto* bytes = reinterpret_cast<const std::byte*>(image.getRawImage());
  return hopmeter::Received::split({bytes, bytes ? image.width() : 0}).with_native(&image);
}

}  // namespace yarps
