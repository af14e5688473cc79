/// UDP sockets, and sending and receiving one datagram.
#pragma once

#include <arpa/inet.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <sys/uio.h>

#include <array>
#include <mutex>
#include <optional>

#include "../../_streams/cpp/socket.hpp"
#include "hopmeter/host_port.hpp"

namespace udp {

using hopmeter::Error;
using Socket = streams::Socket;
using Bytes = std::span<const std::byte>;

/// The largest content of a UDP datagram over IPv4.
inline constexpr std::size_t largest = 65'507;

inline sockaddr_in to_socket_address(const std::string& host, std::uint16_t port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &place.sin_addr) != 1) throw Error(host + " is not an IPv4 address");
  return place;
}

inline bool operator==(const sockaddr_in& one, const sockaddr_in& other) {
  return one.sin_addr.s_addr == other.sin_addr.s_addr && one.sin_port == other.sin_port;
}

/// The address of a publisher: its socket with the token for receivers, or a multicast group without a token.
struct Address {
  sockaddr_in place;
  std::string token;

  static Address parse(const std::string& address) {
    const auto slash = address.find('/');
    const auto [host, port] = hopmeter::HostPort::parse(address.substr(0, slash));
    return {to_socket_address(host, port), slash == address.npos ? "" : address.substr(slash + 1)};
  }
  bool is_group() const { return IN_MULTICAST(ntohl(place.sin_addr.s_addr)); }
};

/// Sends the concatenated parts as one datagram without waiting, to `place` or to the peer of a connected socket.
///
/// An unreachable peer is not an error: its datagrams are lost. After a datagram to an unreachable peer, Linux reports
/// an error instead of sending the next datagram, so the next datagram is sent again.
inline hopmeter::Sent send_datagram(const Socket& socket, std::array<Bytes, 2> parts, const sockaddr_in* place) {
  std::array<iovec, 2> pieces;
  std::ranges::transform(parts, pieces.begin(), [](Bytes part) {
    return iovec{const_cast<std::byte*>(part.data()), part.size()};
  });
  msghdr message{};
  message.msg_name = const_cast<sockaddr_in*>(place);
  message.msg_namelen = place != nullptr ? sizeof *place : 0;
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  while (::sendmsg(*socket, &message, MSG_DONTWAIT) < 0) {
    if (errno == EAGAIN || errno == ENOBUFS) return hopmeter::Sent::busy;
    if (errno != ECONNREFUSED && errno != EINTR) throw Error::system("sending a datagram");
  }
  return hopmeter::Sent::accepted;
}

/// The memory in which frames are written before they are sent.
class FrameBuffer {
 public:
  explicit FrameBuffer(const hopmeter::Link& link) : buffer_(std::min(link.frame_bytes, largest)) {}

  /// Lets `fill` write a frame. Returns the frame as the parts of a datagram.
  std::array<Bytes, 2> write(std::size_t payload_bytes, hopmeter::Fill fill) {
    const auto bytes = hopmeter::header_bytes + payload_bytes;
    if (bytes > buffer_.size()) {
      throw Error("a frame of " + std::to_string(bytes) + " bytes, but the limit is " + std::to_string(buffer_.size()),
                  "a datagram has at most " + std::to_string(largest) + " bytes: send smaller messages, or use tcp");
    }
    const auto frame = std::span(buffer_).first(bytes);
    fill(frame);
    return {Bytes(frame), Bytes()};
  }

 private:
  std::vector<std::byte> buffer_;
};

/// The number of datagrams that the kernel dropped because a socket's receive buffer was full; 0 if the number is
/// unknown.
inline std::uint64_t dropped_by(int socket) noexcept {
  std::array<std::uint32_t, 9> values{};  // the last value is SK_MEMINFO_DROPS
  socklen_t bytes = sizeof values;
  return ::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, values.data(), &bytes) == 0 ? values.back() : 0;
}

/// The dropped datagrams of all receiving sockets of a process.
class Drops {
 public:
  void watch(int socket) {
    const std::lock_guard lock(mutex_);
    open_.push_back(socket);
  }

  /// Adds the dropped datagrams of a socket that is about to close.
  void close(int socket) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(open_, socket);
    closed_ += dropped_by(socket);
  }

  /// Adds a sentence with the number of dropped datagrams to the facts, unless the number is 0.
  void add_to(hopmeter::Facts& facts) {
    const std::lock_guard lock(mutex_);
    auto dropped = closed_;
    for (const int socket : open_) dropped += dropped_by(socket);
    const auto words = "the kernel dropped " + std::to_string(dropped) + " datagrams because a receive buffer was full";
    if (dropped != 0) facts.emplace_back("loss", words);
  }

 private:
  std::mutex mutex_;
  std::vector<int> open_;
  std::uint64_t closed_ = 0;
};

/// The receiving half of a socket.
class Inbox {
 public:
  Inbox(Socket socket, const hopmeter::Link& link, Drops& drops)
      : socket_(std::move(socket)),
        blocks_(link.wait == hopmeter::Wait::block),
        buffer_(std::min(link.frame_bytes, largest)),
        drops_(drops) {
    drops_.watch(*socket_);
  }
  ~Inbox() { drops_.close(*socket_); }
  Inbox(const Inbox&) = delete;

  const Socket& socket() const noexcept { return socket_; }

  /// Receives one datagram and its sender's address (empty if none arrived). Drops a datagram that exceeds the link's
  /// largest frame.
  std::optional<Bytes> receive(hopmeter::Timeout timeout, sockaddr_in* sender = nullptr) {
    const bool waits = blocks_ && timeout > hopmeter::Timeout::zero();
    if (waits && timeout != timeout_) {
      socket_.set_timeout(SO_RCVTIMEO, std::max<hopmeter::Timeout>(timeout, std::chrono::milliseconds(1)),
                          "SO_RCVTIMEO");
      timeout_ = timeout;
    }
    socklen_t size = sizeof *sender;
    const auto bytes = ::recvfrom(*socket_, buffer_.data(), buffer_.size(), MSG_TRUNC | (waits ? 0 : MSG_DONTWAIT),
                                  reinterpret_cast<sockaddr*>(sender), sender != nullptr ? &size : nullptr);
    if (bytes < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) {
      throw Error::system("receiving a datagram");
    }
    if (bytes < 0 || static_cast<std::size_t>(bytes) > buffer_.size()) return std::nullopt;
    return Bytes(buffer_).first(static_cast<std::size_t>(bytes));
  }

 private:
  Socket socket_;
  bool blocks_;
  hopmeter::Timeout timeout_{};
  std::vector<std::byte> buffer_;
  Drops& drops_;
};

}  // namespace udp
