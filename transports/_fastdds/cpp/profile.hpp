/// The profile for large frames: what the library's documentation advises where samples are larger than a datagram.
#pragma once

#include <cstddef>

#include "qos.hpp"

namespace fastdds {

/// Gives a value to all that was left to the library: a segment that holds `large_frames` frames and, where there is no
/// UDP beside it, whole messages; sockets' buffers and, where there is only UDP, a flow that they can hold; fast
/// answers to what was missed.
void enlarge(Customs& customs, std::size_t frame_bytes);

/// What came of the receive buffer that was asked for, and of the flow.
hopmeter::Facts buffer_facts(const Customs& customs);

}  // namespace fastdds
