/// Writes messages into memory, and sends them on a connection with a single reader.
#pragma once

#include "peers.hpp"

namespace streams {

/// The buffer in which messages are written before they are sent.
class MessageBuffer {
 public:
  explicit MessageBuffer(std::size_t frame_bytes) : buffer_(frame_bytes), frame_bytes_(frame_bytes) {}

  /// Lets `fill` write a frame after its prefix. Returns the prefix and the frame.
  Message write(std::size_t payload_bytes, hopmeter::Fill fill) {
    const auto length = hopmeter::header_bytes + payload_bytes;
    if (length > frame_bytes_) {
      throw Error("a frame of " + std::to_string(length) + " bytes, but the limit is " + std::to_string(frame_bytes_),
                  "send no frame larger than the largest frame that the trial announced");
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

/// Returns a received frame together with the prefix that precedes it in memory.
inline Message message_of(const hopmeter::Received& received) {
  return received.require_native<Message>("a stream socket");
}

/// The sending half of a bidirectional connection: a client's requests, or a server's replies to one client. A sending
/// half has no thread, so every send or poll first sends the reader's backlog.
class SendingHalf final : public hopmeter::Replier {
 public:
  SendingHalf(Socket connection, std::size_t frame_bytes) : reader_(std::move(connection)), buffer_(frame_bytes) {}

  /// Sends the reader's backlog without waiting. Returns whether the backlog is now empty or the reader has
  /// disconnected.
  bool catch_up() {
    if (reader_.is_behind() && !reader_.is_gone()) reader_.flush();
    return reader_.is_gone() || !reader_.is_behind();
  }

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return catch_up() ? dispatch(buffer_.write(payload_bytes, fill)) : hopmeter::Sent::busy;
  }

  /// Sends the received bytes without a copy.
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    return catch_up() ? dispatch(message_of(received)) : hopmeter::Sent::busy;
  }

 private:
  hopmeter::Sent dispatch(Message message) {
    const bool is_sent = reader_.is_gone() || reader_.send(message, false) || reader_.is_gone();
    return is_sent ? hopmeter::Sent::accepted : hopmeter::Sent::busy;
  }

  Peer reader_;
  MessageBuffer buffer_;
};

}  // namespace streams
