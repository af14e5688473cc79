/// What is written to sockets: messages, and the sending half of a connection that has only one reader.
#pragma once

#include "receivers.hpp"

namespace streams {

/// Where messages are written before they are sent.
class Draft {
 public:
  explicit Draft(std::size_t frame_bytes) : buffer_(frame_bytes), frame_bytes_(frame_bytes) {}

  /// A frame as `fill` writes it, with its prefix.
  Message message(std::size_t payload_bytes, hopmeter::Fill fill) {
    const auto length = hopmeter::header_bytes + payload_bytes;
    if (length > frame_bytes_) {
      throw Error("a frame of " + std::to_string(length) + " bytes, the limit is " + std::to_string(frame_bytes_),
                  "frames are limited to the largest that the trial announced");
    }
    const std::span message(buffer_.at(0), prefix_bytes + length);
    write_length(message.data(), length);
    fill(message.subspan(prefix_bytes));
    return message;
  }

 private:
  Buffer buffer_;
  std::size_t frame_bytes_;
};

/// A received frame with the prefix that stands before it.
inline Message message_of(const hopmeter::Received& received) {
  const auto* message = received.native<Message>();
  if (!message) throw Error("this frame did not come by a stream socket, so it cannot be moved on");
  return *message;
}

/// The sending half of a connection that also receives: a client's requests, or a server's replies to one client.
/// Nobody stands beside it: what its reader was too slow for is sent on when this end sends or polls.
class Line final : public hopmeter::Replier {
 public:
  Line(Socket connection, std::size_t frame_bytes) : reader_(std::move(connection)), draft_(frame_bytes) {}

  /// Sends what the reader was too slow for, without waiting; answers whether it has all of it now. One that is gone
  /// takes everything.
  bool catch_up() {
    if (reader_.is_behind() && !reader_.is_gone()) reader_.flush();
    return reader_.is_gone() || !reader_.is_behind();
  }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return catch_up() ? dispatch(draft_.message(payload_bytes, fill)) : hopmeter::Sent::busy;
  }

  /// Sends the bytes from where they were received.
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    return catch_up() ? dispatch(message_of(received)) : hopmeter::Sent::busy;
  }

 private:
  hopmeter::Sent dispatch(Message message) {
    const bool left = reader_.is_gone() || reader_.send(message, false) || reader_.is_gone();
    return left ? hopmeter::Sent::accepted : hopmeter::Sent::busy;
  }

  Receiving reader_;
  Draft draft_;
};

}  // namespace streams
