/// RAII wrappers for nng's messages and sockets.
#pragma once

#include <nng/nng.h>
#include <unistd.h>

#include <chrono>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/resource.hpp"

/// Throws an error that names the operation if `code` is one of nng's error codes.
inline void demand(int code, const std::string& doing, const std::string& remedy = {}) {
  if (code != 0) throw hopmeter::Error(doing + ": " + nng_strerror(code), remedy);
}

using Message = hopmeter::Resource<nng_msg, nng_msg_free>;
using Aio = hopmeter::Resource<nng_aio, nng_aio_free>;

/// An asynchronous nng operation that calls an object's `finish` on completion.
template <class Object>
Aio make_aio(Object* object) {
  nng_aio* aio = nullptr;
  const auto finish = [](void* self) { static_cast<Object*>(self)->finish(); };
  demand(nng_aio_alloc(&aio, finish, object), "preparing to receive");
  return Aio(aio);
}

inline std::span<std::byte> bytes(const Message& message) {
  return {static_cast<std::byte*>(nng_msg_body(message.get())), nng_msg_len(message.get())};
}

/// If there is a message, passes it on in the instrument's type. Returns the number of messages.
inline std::size_t hand_over(const Message& message, const auto& take, auto&... more) {
  if (message) take(hopmeter::Received::split(bytes(message)), more...);
  return message ? 1 : 0;
}

/// A socket of any protocol, which binds or connects. The socket also serves as a publisher or a polled subscriber.
class Socket final : public hopmeter::Publisher, public hopmeter::Subscriber {
 public:
  Socket(int (*open)(nng_socket*), const hopmeter::Link& link) {
    demand(open(&socket_), "opening a socket of nng");
    // nng closes a connection after a larger message; the default limit is 1 MiB.
    const auto most = link.frame_bytes + envelope_bytes;
    demand(nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, most), "setting recv-size-max");
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() override { nng_close(socket_); }

  nng_socket operator*() const noexcept { return socket_; }
  std::string address() const override { return address_; }

  void set(const char* option, int value) {
    demand(nng_socket_set_int(socket_, option, value), std::string("setting ") + option);
  }

  void bind(const hopmeter::Setup& setup, const hopmeter::Link& link) {
    const auto endpoint = setup.setting<std::string>("endpoint");
    if (endpoint == "tcp") return bind_port(setup);
    address_ =
        endpoint == "ipc" ? "ipc://" + setup.directory() + "/" + link.name + ".nng" : process_prefix() + link.name;
    demand(nng_listen(socket_, address_.c_str(), nullptr, 0), "listening at " + address_,
           "set TMPDIR to a folder with a shorter path, if the socket's path is longer than 100 characters");
  }

  /// Waits for the connection. nng reconnects later if necessary.
  void connect(const hopmeter::Link& link) {
    if (link.address.starts_with("inproc:") && !link.address.starts_with(process_prefix()))
      throw hopmeter::Error(
          "inproc connects only ends of one process, but the other end of " + link.name + " is outside",
          "use placement = \"thread\", or endpoint = \"ipc\"");
    demand(nng_dial(socket_, link.address.c_str(), nullptr, 0), "connecting to " + link.address);
  }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return send(payload_bytes, fill, NNG_FLAG_NONBLOCK);
  }

  /// Sends a frame in a message that nng allocates. Returns `busy` if nng would have to wait or the wait timed out.
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill, int flags) {
    nng_msg* allocated = nullptr;
    demand(nng_msg_alloc(&allocated, hopmeter::header_bytes + payload_bytes), "allocating a message of nng");
    Message message(allocated);
    fill(bytes(message));
    const int code = nng_sendmsg(socket_, message.get(), flags);
    if (code == NNG_EAGAIN || code == NNG_ETIMEDOUT) return hopmeter::Sent::busy;
    demand(code, "sending with nng");
    (void)message.release();  // nng owns the message from here on
    return hopmeter::Sent::accepted;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    return hand_over(receive(timeout), take);
  }

  /// Returns the next message, or null after `timeout`, which nng rounds to milliseconds.
  Message receive(hopmeter::Timeout timeout) {
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(timeout);
    if (limit.count() > 0 && limit != receive_limit_) set_receive_limit(limit);
    nng_msg* message = nullptr;
    const int code = nng_recvmsg(socket_, &message, limit.count() > 0 ? 0 : NNG_FLAG_NONBLOCK);
    if (code != NNG_EAGAIN && code != NNG_ETIMEDOUT) demand(code, "receiving with nng");
    return Message(message);
  }

 private:
  /// The maximum number of bytes that nng adds to a frame, for call ids.
  static constexpr std::size_t envelope_bytes = 256;

  static std::string process_prefix() { return "inproc://hopmeter/" + std::to_string(getpid()) + "/"; }

  /// Sets the receive timeout. Called only if the timeout has changed, which is rare.
  void set_receive_limit(std::chrono::milliseconds limit) {
    const auto ms = static_cast<nng_duration>(limit.count());
    demand(nng_socket_set_ms(socket_, NNG_OPT_RECVTIMEO, ms), "setting the receive timeout");
    receive_limit_ = limit;
  }

  void bind_port(const hopmeter::Setup& setup) {
    nng_listener listener;
    const auto url = "tcp://" + setup.bind() + ":0";
    demand(nng_listen(socket_, url.c_str(), &listener, 0), "listening at " + url);
    int port = 0;
    demand(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), "asking nng for its port");
    address_ = "tcp://" + setup.advertised() + ":" + std::to_string(port);
  }

  nng_socket socket_{};
  std::chrono::milliseconds receive_limit_{};
  std::string address_;
};
