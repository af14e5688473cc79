/// Sockets and their options, with errors that name the remedy.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/resource.hpp"

namespace streams {

using hopmeter::Error;

/// Returns the kernel's version, which serves as the library version.
inline std::string kernel_version() {
  utsname kernel{};
  return ::uname(&kernel) == 0 ? std::string("Linux ") + kernel.release : "Linux";
}

/// How long a receiver of a partly sent message may accept no bytes.
inline constexpr std::chrono::milliseconds patience{100};

/// A socket, or one side of a pipe. A pipe's descriptor is non-blocking: where a socket blocks in a call, a pipe first
/// waits in `poll`.
class Socket : public hopmeter::Descriptor {
 public:
  using Descriptor::Descriptor;

  /// Takes ownership of the descriptor of one side of a pipe.
  static Socket pipe(int descriptor) {
    Socket socket(descriptor);
    socket.is_pipe_ = true;
    return socket;
  }

  bool is_pipe() const noexcept { return is_pipe_; }

  /// Sends as many bytes as the other side accepts. With `waits`, gives up only after the other side has accepted
  /// nothing for `patience`. Returns the number of bytes, or nothing if the receiver has disconnected.
  std::optional<std::size_t> send_some(std::span<const std::byte> bytes, bool waits) const {
    if (is_pipe_) return write_some(bytes, waits);
    for (;;) {
      const auto sent = ::send(**this, bytes.data(), bytes.size(), MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
      if (sent >= 0) return static_cast<std::size_t>(sent);
      if (errno == EAGAIN) return 0;
      if (errno != EINTR) return std::nullopt;
    }
  }

  /// Receives like `recv`. With `waits`, a socket waits at most SO_RCVTIMEO, and a pipe at most `timeout`. With
  /// `whole`, a socket waits until the buffer is full; a pipe may return earlier.
  ssize_t receive(std::span<std::byte> buffer, bool waits, bool whole, hopmeter::Timeout timeout) const {
    if (!is_pipe_) {
      return ::recv(**this, buffer.data(), buffer.size(), !waits ? MSG_DONTWAIT : whole ? MSG_WAITALL : 0);
    }
    // The rest of a frame has often arrived already, so this function first reads and waits only if necessary.
    if (!waits || whole) {
      const auto bytes = ::read(**this, buffer.data(), buffer.size());
      if (!waits || bytes >= 0 || errno != EAGAIN) return bytes;
    }
    if (!waits_for(POLLIN, timeout)) return -1;
    return ::read(**this, buffer.data(), buffer.size());
  }

  /// Creates a socket that no child process inherits.
  static Socket create(int family, int type = SOCK_STREAM) {
    return Socket(::socket(family, type | SOCK_CLOEXEC, 0), "making a socket");
  }

  /// Duplicates the descriptor of the connection, for the other half of the link end.
  Socket duplicate() const { return Socket(::fcntl(**this, F_DUPFD_CLOEXEC, 0), "duplicating a descriptor"); }

  void make_nonblocking() const {
    if (::fcntl(**this, F_SETFL, O_NONBLOCK) != 0) throw Error::system("making a socket nonblocking");
  }

  template <class Value>
  void set(int level, int option, const Value& value, const char* name) const {
    if (::setsockopt(**this, level, option, &value, sizeof value) != 0) {
      throw Error::system(std::string("setting ") + name);
    }
  }

  /// Sets SO_SNDTIMEO or SO_RCVTIMEO.
  void set_timeout(int option, hopmeter::Timeout timeout, const char* name) const {
    const auto us = std::chrono::ceil<std::chrono::microseconds>(timeout).count();
    set(SOL_SOCKET, option, timeval{us / 1'000'000, us % 1'000'000}, name);
  }

  /// Sets SO_SNDBUF; 0 keeps the system's default.
  void set_send_buffer(int bytes) const { set_buffer(SO_SNDBUF, bytes, "send_buffer", "net.core.wmem_max"); }

  /// Sets SO_RCVBUF; 0 keeps the system's default.
  void set_receive_buffer(int bytes) const { set_buffer(SO_RCVBUF, bytes, "receive_buffer", "net.core.rmem_max"); }

 private:
  std::optional<std::size_t> write_some(std::span<const std::byte> bytes, bool waits) const {
    std::size_t sent = 0;
    for (;;) {
      const auto more = ::write(**this, bytes.data() + sent, bytes.size() - sent);
      if (more < 0 && errno != EAGAIN && errno != EINTR) return std::nullopt;
      sent += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
      if (sent == bytes.size() || !waits || !waits_for(POLLOUT, patience)) return sent;
    }
  }

  /// Returns false, with EAGAIN as `errno`, if nothing happens before the timeout.
  bool waits_for(short events, hopmeter::Timeout timeout) const {
    pollfd place{**this, events, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    const auto ready = ::poll(&place, 1, static_cast<int>(ms));
    if (ready == 0) errno = EAGAIN;
    return ready > 0;
  }

  void set_buffer(int option, int bytes, const std::string& setting, const std::string& limit) const {
    if (bytes == 0) return;
    set(SOL_SOCKET, option, bytes, setting.c_str());
    int granted = 0;
    socklen_t size = sizeof granted;
    if (::getsockopt(**this, SOL_SOCKET, option, &granted, &size) != 0) throw Error::system("reading " + setting);
    // Linux may silently grant a smaller buffer. Linux reports twice the granted size, because the reported size
    // includes bookkeeping.
    if (granted / 2 >= bytes) return;
    const auto requested = std::to_string(bytes);
    throw Error("the system grants " + std::to_string(granted / 2) + " bytes for " + setting + " = " + requested,
                "request a smaller size, or raise the limit: sysctl -w " + limit + "=" + requested);
  }

  bool is_pipe_ = false;
};

/// The length of every frame's prefix: the frame's length as a little-endian u64, zero-padded to a cache line. With the
/// prefix, message, header and payload begin at cache lines, from which the kernel copies fastest.
inline constexpr std::size_t prefix_bytes = 64;
inline constexpr std::size_t length_bytes = 8;

/// A zeroed buffer in which messages begin at a cache line.
class Buffer {
 public:
  static constexpr std::size_t line = 64;

  /// Allocates room for the prefix and for `bytes` more bytes.
  explicit Buffer(std::size_t bytes)
      : size_(prefix_bytes + bytes), data_(static_cast<std::byte*>(::operator new (size_, std::align_val_t{line}))) {
    std::fill_n(data_.get(), size_, std::byte{});
  }

  std::size_t size() const noexcept { return size_; }
  std::byte* at(std::size_t offset) const noexcept { return data_.get() + offset; }

 private:
  struct Delete {
    void operator()(std::byte* data) const noexcept { ::operator delete (data, std::align_val_t{line}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Delete> data_;
};

/// Writes the length that precedes a frame byte by byte. On little-endian machines, compilers combine the stores of the
/// bytes into one store.
inline void write_length(std::byte* out, std::uint64_t length) noexcept {
  for (std::size_t at = 0; at < length_bytes; ++at) out[at] = static_cast<std::byte>(length >> (8 * at));
}

inline std::uint64_t read_length(const std::byte* from) noexcept {
  std::uint64_t length = 0;
  for (std::size_t at = 0; at < length_bytes; ++at) length |= std::to_integer<std::uint64_t>(from[at]) << (8 * at);
  return length;
}

}  // namespace streams
