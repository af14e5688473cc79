/// A POSIX message queue.
#pragma once

#include <mqueue.h>

#include "../../_streams/cpp/socket.hpp"

namespace mq {

using hopmeter::Error;

/// The largest message that the kernel allows by default (fs.mqueue.msgsize_max).
inline constexpr std::size_t largest = 8192;

/// Throws an error that names the exceeded kernel limit, and how to raise the limit.
[[noreturn]] inline void fail_to_create(long depth, std::size_t bytes) {
  const auto most = std::to_string(depth), size = std::to_string(bytes);
  const std::string remedy =
      errno == EINVAL ? "use a smaller depth, or raise the limits: sysctl -w fs.mqueue.msg_max=" + most +
                            " fs.mqueue.msgsize_max=" + size
      : errno == EMFILE
          ? "use a smaller depth or smaller messages, or raise the memory that all queues of a user may have: ulimit "
            "-q unlimited"
      : errno == ENOSPC ? "raise the number of queues: sysctl -w fs.mqueue.queues_max=1024"
      : errno == ENOSYS ? "this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)"
                        : "see man mq_overview";
  throw Error::system("creating a message queue for " + most + " messages of " + size + " bytes", remedy);
}

/// A queue, whose descriptor is a file descriptor on Linux.
class Queue {
 public:
  /// Creates a receiver's queue for `depth` messages of at most `bytes` bytes.
  static Queue create(const std::string& name, long depth, std::size_t bytes, bool blocks) {
    mq_attr attributes{};
    attributes.mq_maxmsg = depth;
    attributes.mq_msgsize = static_cast<long>(bytes);
    const auto path = "/" + name;
    const int flags = O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | (blocks ? 0 : O_NONBLOCK);
    const auto descriptor = ::mq_open(path.c_str(), flags, 0600, &attributes);
    if (descriptor < 0) fail_to_create(depth, bytes);
    return Queue(descriptor, path, blocks);
  }

  /// Opens a receiver's queue for sending, and removes its name. Returns nothing if the receiver has removed the queue.
  static std::optional<Queue> open(const std::string& name) {
    const auto path = "/" + name;
    const auto descriptor = ::mq_open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    ::mq_unlink(path.c_str());
    return descriptor < 0 ? std::nullopt : std::optional(Queue(descriptor, "", false));
  }

  Queue(Queue&&) = default;
  Queue& operator=(Queue&&) = default;
  ~Queue() {
    if (!path_.empty()) ::mq_unlink(path_.c_str());  // the publisher may already have removed the name
  }

  bool is_full() const {
    mq_attr now{};
    return ::mq_getattr(*descriptor_, &now) == 0 && now.mq_curmsgs >= now.mq_maxmsg;
  }

  /// Sends one message without waiting.
  hopmeter::Sent send(std::span<const std::byte> frame) const {
    while (::mq_send(*descriptor_, reinterpret_cast<const char*>(frame.data()), frame.size(), 0) != 0) {
      if (errno == EAGAIN) return hopmeter::Sent::busy;
      if (errno != EINTR) throw Error::system("sending a frame of " + std::to_string(frame.size()) + " bytes");
    }
    return hopmeter::Sent::accepted;
  }

  /// Receives one message. Returns the part of the buffer with the message, or an empty span after the timeout. The
  /// system call expects an absolute time of day as the timeout.
  std::span<const std::byte> receive(std::span<std::byte> buffer, hopmeter::Timeout timeout) const {
    auto* data = reinterpret_cast<char*>(buffer.data());
    const auto until = blocks_ ? time_of_day_after(timeout) : timespec{};
    const auto bytes = blocks_ ? ::mq_timedreceive(*descriptor_, data, buffer.size(), nullptr, &until)
                               : ::mq_receive(*descriptor_, data, buffer.size(), nullptr);
    if (bytes >= 0) return buffer.first(static_cast<std::size_t>(bytes));
    if (errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR) throw Error::system("receiving a message");
    return {};
  }

 private:
  Queue(mqd_t descriptor, std::string path, bool blocks)
      : descriptor_(descriptor), path_(std::move(path)), blocks_(blocks) {}

  static timespec time_of_day_after(hopmeter::Timeout timeout) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto ns = now.tv_nsec + timeout.count();
    return {now.tv_sec + ns / 1'000'000'000, ns % 1'000'000'000};
  }

  hopmeter::Descriptor descriptor_;
  /// The queue's name, if this end must remove the name.
  std::string path_;
  bool blocks_;
};

}  // namespace mq
