/// nng's messages and sockets as values that free and close themselves.
#pragma once

#include "hopmeter/hopmeter.hpp"

#include <nng/nng.h>
#include <unistd.h>

#include <chrono>
#include <memory>

/// nng answers error codes; here they become exceptions that say what was being done.
inline void require(int code, const std::string& doing, const std::string& remedy = {}) {
  if (code != 0) throw hopmeter::Error(doing + ": " + nng_strerror(code), remedy);
}

struct FreeMessage {
  void operator()(nng_msg* message) const noexcept { nng_msg_free(message); }
};
using Message = std::unique_ptr<nng_msg, FreeMessage>;

inline std::span<std::byte> bytes(const Message& message) {
  return {static_cast<std::byte*>(nng_msg_body(message.get())), nng_msg_len(message.get())};
}

/// A socket of any protocol, which binds or connects.
class Socket {
 public:
  using Open = int (*)(nng_socket*);

  explicit Socket(Open open) {
    require(open(&socket_), "opening a socket of nng");
    // nng closes connections that bring more than this, 1 MiB unless told; 0 is without limit.
    set(NNG_OPT_RECVMAXSZ, std::size_t{0});
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { nng_close(socket_); }

  nng_socket operator*() const noexcept { return socket_; }
  const std::string& address() const noexcept { return address_; }

  void set(const char* option, std::size_t bytes) {
    require(nng_socket_set_size(socket_, option, bytes), std::string("setting ") + option);
  }
  void set(const char* option, int value) {
    require(nng_socket_set_int(socket_, option, value), std::string("setting ") + option);
  }

  void bind(const hopmeter::Setup& setup, const hopmeter::Link& link) {
    const auto endpoint = setup.setting<std::string>("endpoint");
    if (endpoint == "tcp") return bind_port();
    address_ = endpoint == "ipc" ? "ipc://" + setup.directory() + "/" + link.name + ".nng" : of_process() + link.name;
    require(nng_listen(socket_, address_.c_str(), nullptr, 0), "listening at " + address_,
            "let TMPDIR name a folder with a shorter path, if this one is longer than 100 characters");
  }

  /// Waits until it is connected; nng itself connects again later, should that be needed.
  void connect(const hopmeter::Link& link) {
    if (link.address.starts_with("inproc:") && !link.address.starts_with(of_process()))
      throw hopmeter::Error(
          "inproc reaches only ends of one process, and the other end of " + link.name + " is outside",
          "use placement = \"thread\", or endpoint = \"ipc\"");
    require(nng_dial(socket_, link.address.c_str(), nullptr, 0), "connecting to " + link.address);
  }

  /// Sends a frame in nng's memory. `busy` where nng says that it would have to wait, or has waited for too long.
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill, int flags = NNG_FLAG_NONBLOCK) {
    nng_msg* allocated = nullptr;
    require(nng_msg_alloc(&allocated, hopmeter::header_bytes + payload_bytes), "allocating a message of nng");
    Message message(allocated);
    fill(bytes(message));
    const int code = nng_sendmsg(socket_, message.get(), flags);
    if (code == NNG_EAGAIN || code == NNG_ETIMEDOUT) return hopmeter::Sent::busy;
    require(code, "sending with nng");
    (void)message.release();  // nng's own from here on
    return hopmeter::Sent::accepted;
  }

  /// The next message, or null when none has come within `timeout`, which nng counts in whole milliseconds.
  Message receive(hopmeter::Timeout timeout) {
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(timeout);
    if (limit.count() > 0 && limit != receive_limit_) limit_receiving(limit);
    nng_msg* message = nullptr;
    const int code = nng_recvmsg(socket_, &message, limit.count() > 0 ? 0 : NNG_FLAG_NONBLOCK);
    if (code != NNG_EAGAIN && code != NNG_ETIMEDOUT) require(code, "receiving with nng");
    return Message(message);
  }

 private:
  static std::string of_process() { return "inproc://hopmeter/" + std::to_string(getpid()) + "/"; }

  /// The same from poll to poll, so that nng is told once.
  void limit_receiving(std::chrono::milliseconds limit) {
    const auto ms = static_cast<nng_duration>(limit.count());
    require(nng_socket_set_ms(socket_, NNG_OPT_RECVTIMEO, ms), "limiting how long to receive");
    receive_limit_ = limit;
  }

  void bind_port() {
    nng_listener listener;
    require(nng_listen(socket_, "tcp://127.0.0.1:0", &listener, 0), "listening on the loopback device");
    int port = 0;
    require(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), "asking nng for its port");
    address_ = "tcp://127.0.0.1:" + std::to_string(port);
  }

  nng_socket socket_{};
  std::chrono::milliseconds receive_limit_{};
  std::string address_;
};
