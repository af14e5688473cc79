/// The subscriber of a link, which receives a small frame with one `recv`, and the rest of a large frame directly into
/// its final position.
#pragma once

#include <cerrno>
#include <cstring>
#include <thread>

#include "family.hpp"

namespace streams {

class StreamSubscriber final : public hopmeter::Subscriber {
 public:
  StreamSubscriber(Socket connection, bool blocks, std::size_t frame_bytes)
      : connection_(std::move(connection)),
        blocks_(blocks),
        frame_bytes_(frame_bytes),
        buffer_(std::max(frame_bytes, minimum_room)) {}

  const Socket& socket() const noexcept { return connection_; }
  /// Whether the peer has closed the connection.
  bool is_gone() const noexcept { return is_gone_; }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto frames = receive_some(timeout, take);
    // A disconnected peer does not reconnect. Without the pause, the role would poll in a busy loop.
    if (is_gone_ && blocks_) std::this_thread::sleep_for(timeout);
    return frames;
  }

  /// Like `poll`, but returns immediately after the peer has disconnected.
  std::size_t receive_some(hopmeter::Timeout timeout, const auto& take) {
    const bool may_wait = blocks_ && timeout > hopmeter::Timeout::zero();
    if (may_wait && !connection_.is_pipe()) set_timeout(timeout);
    while (!is_gone_) {
      if (!receive(may_wait, timeout)) return 0;
      if (const auto frames = deliver(take); frames != 0) return frames;
    }
    return 0;
  }

 private:
  /// Large enough to receive several small frames in one call.
  static constexpr std::size_t minimum_room = 65536;

  /// Returns the size of the frame at `start`, including its prefix, or 0 until the prefix has arrived.
  std::size_t message_bytes(std::size_t start) const {
    if (end_ - start < prefix_bytes) return 0;
    const auto length = read_length(buffer_.at(start));
    if (length > frame_bytes_) {
      throw Error("a frame of " + std::to_string(length) + " bytes was announced, but the limit is " +
                      std::to_string(frame_bytes_),
                  "another program writes to this socket, or an adapter violates the wire format");
    }
    return prefix_bytes + length;
  }

  /// Receives everything that is available or, if a frame is incomplete, only the missing bytes. Returns whether any
  /// byte arrived.
  bool receive(bool may_wait, hopmeter::Timeout timeout) {
    const auto begun = message_bytes(0);
    const bool rest = begun > end_;
    const auto room = rest ? begun : buffer_.size();
    const auto bytes = connection_.receive({buffer_.at(end_), room - end_}, may_wait, rest, timeout);
    // A pipe that no writer has opened yet looks like a pipe whose writer has disconnected.
    if (bytes == 0 && connection_.is_pipe() && !has_begun_ && !may_wait) return false;
    if (bytes > 0) {
      has_begun_ = true;
      end_ += static_cast<std::size_t>(bytes);
      return true;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (bytes < 0 && errno != ECONNRESET) throw Error::system("receiving bytes");
    is_gone_ = true;
    return true;
  }

  /// Passes every complete frame to `take`, and moves an incomplete frame to the start of the buffer.
  std::size_t deliver(const auto& take) {
    std::size_t frames = 0, start = 0;
    for (std::size_t bytes; (bytes = message_bytes(start)) != 0 && bytes <= end_ - start; start += bytes, ++frames) {
      const Message message(buffer_.at(start), bytes);
      take(hopmeter::Received::split(message.subspan(prefix_bytes)).with_native(&message));
    }
    if (start != 0) {
      std::memmove(buffer_.at(0), buffer_.at(start), end_ - start);
      end_ -= start;
    }
    return frames;
  }

  /// Sets SO_RCVTIMEO only if the timeout has changed, because setting SO_RCVTIMEO takes a system call. A timeout of
  /// zero would wait forever.
  void set_timeout(hopmeter::Timeout timeout) {
    timeout = std::max<hopmeter::Timeout>(timeout, std::chrono::milliseconds(1));
    if (timeout == timeout_) return;
    connection_.set_timeout(SO_RCVTIMEO, timeout, "SO_RCVTIMEO");
    timeout_ = timeout;
  }

  Socket connection_;
  bool blocks_;
  std::size_t frame_bytes_;
  Buffer buffer_;
  /// The end of the received bytes in the buffer.
  std::size_t end_ = 0;
  hopmeter::Timeout timeout_{};
  /// Whether any byte has arrived.
  bool has_begun_ = false;
  bool is_gone_ = false;
};

}  // namespace streams
