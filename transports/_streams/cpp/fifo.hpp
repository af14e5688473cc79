/// Joins receivers to a binding end over named pipes. The binding end creates a pipe with the link's name. Each
/// receiver creates its own pipe in the same folder, and writes its name to the binding end's pipe.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <csignal>
#include <optional>

#include "socket.hpp"

namespace streams::fifo {

/// The size of a zero-padded name. Pipe writes of this size are atomic, so names never mix.
using Record = std::array<char, 64>;

/// One receiver's pipe.
struct Joined {
  Socket pipe;
  /// The name of the pipe's file, which is unique on this machine.
  std::string name;
};

inline void make(const std::string& path) {
  // `write` has no MSG_NOSIGNAL, so a write to a disconnected receiver would end this process.
  ::signal(SIGPIPE, SIG_IGN);
  if (::mkfifo(path.c_str(), 0600) != 0) throw Error::system("making the named pipe " + path);
}

inline Socket open(const std::string& path, int way) {
  const int descriptor = ::open(path.c_str(), way | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw Error::system("opening the pipe " + path);
  return Socket::pipe(descriptor);
}

/// Creates the pipe on which a binding end receives names, at `path`.
inline Socket listen(const std::string& path) {
  make(path);
  // The pipe is also open for writing, so that reads do not report the end of the stream while there are no receivers.
  return open(path, O_RDWR);
}

/// Opens the pipe of the next receiver, or returns nothing if no receiver waits. Removes the pipe's file from `folder`.
inline std::optional<Joined> accept(const Socket& listener, const std::string& folder) {
  for (;;) {
    Record record{};
    const auto bytes = ::read(*listener, record.data(), record.size());
    if (bytes < 0 && errno == EAGAIN) return std::nullopt;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes != static_cast<ssize_t>(record.size())) throw Error::system("accepting a receiver");
    const std::string name(record.data(), ::strnlen(record.data(), record.size()));
    if (name.find('/') != name.npos) continue;  // not written by an adapter
    const auto path = folder + "/" + name;
    const int pipe = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe < 0) continue;  // the receiver has disconnected meanwhile
    ::unlink(path.c_str());
    return Joined{Socket::pipe(pipe), name};
  }
}

/// Creates a receiver's pipe and sends its name to the binding end. The name begins with `prefix`. `prepare` is called
/// with the name before the name is sent.
inline Joined connect(const std::string& address, const std::string& prefix, auto&& prepare) {
  static std::atomic<unsigned> pipes = 0;
  const auto name = prefix + std::to_string(::getpid()) + "-" + std::to_string(pipes++);
  const auto path = address.substr(0, address.rfind('/') + 1) + name;
  make(path);
  auto pipe = open(path, O_RDONLY);
  prepare(name);
  Record record{};
  name.copy(record.data(), record.size());
  const auto joining = open(address, O_WRONLY);
  if (::write(*joining, record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
    throw Error::system("joining " + address);
  }
  return {std::move(pipe), name};
}

}  // namespace streams::fifo
