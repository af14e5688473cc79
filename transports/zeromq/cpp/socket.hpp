/// A ZeroMQ socket, which converts frames to messages and messages to frames.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <zmq.hpp>

#include "hopmeter/credentials.hpp"
#include "hopmeter/hopmeter.hpp"
#include "pool.hpp"

/// The state that all link ends of the process share. The context ends before the pool, because the context returns
/// frames to the pool.
struct Process {
  explicit Process(const hopmeter::Setup& setup)
      : setup(setup), pool(setup.largest_frame_bytes()), context(setup.setting<int>("io_threads")) {}

  /// How the bytes travel, for the fact `path`.
  std::string path() const {
    if (endpoint == "inproc") return "memory of this process";
    const auto route = endpoint == "tcp" ? "TCP on " + setup.network_device() : "Unix sockets";
    return is_secure ? route + " with CURVE" : route;
  }

  /// How many bytes a message may have beyond the largest frame, for CURVE's handshake and CURVE's additions.
  std::size_t margin_bytes() const { return is_secure ? 1024 : 0; }

  hopmeter::Setup setup;
  std::string endpoint = setup.setting<std::string>("endpoint");
  bool is_secure = setup.setting<std::string>("security") == "curve";
  Pool pool;
  zmq::context_t context;
};

/// A second reference to a message, which keeps the message's bytes valid.
class MessageHolder final : public hopmeter::FrameHolder {
 public:
  explicit MessageHolder(const void* native) {
    message_.copy(const_cast<zmq::message_t&>(*static_cast<const zmq::message_t*>(native)));
  }
  std::span<const std::byte> bytes() const noexcept override { return {message_.data<std::byte>(), message_.size()}; }
  static std::unique_ptr<hopmeter::FrameHolder> keep(const void* native) {
    return std::make_unique<MessageHolder>(native);
  }

 private:
  zmq::message_t message_;
};

/// Converts a received message to the instrument's type.
inline hopmeter::Received to_received(const zmq::message_t& message) {
  const std::span<const std::byte> whole(message.data<std::byte>(), message.size());
  return hopmeter::Received::split(whole).with_native(&message).with_keep<MessageHolder::keep>();
}

/// A publisher (PUB), a subscriber (SUB) or a client (DEALER).
class Socket final : public hopmeter::Publisher, public hopmeter::Subscriber, public hopmeter::Client {
 public:
  Socket(Process& process, zmq::socket_type type, const hopmeter::Link& link)
      : process_(process), socket_(process.context, type), spins_(link.wait == hopmeter::Wait::spin) {
    const auto hwm = process.setup.setting<int>("hwm");
    socket_.set(zmq::sockopt::sndhwm, hwm);
    socket_.set(zmq::sockopt::rcvhwm, hwm);
    socket_.set(zmq::sockopt::linger, 0);
    // ZeroMQ closes a connection after a larger message; by default there is no limit.
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(link.frame_bytes + process.margin_bytes()));
  }

  ~Socket() override {
    socket_.close();
    // ZeroMQ removes only files that it has named itself.
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

  zmq::socket_t& operator*() noexcept { return socket_; }

  void bind(const hopmeter::Link& link) {
    if (process_.is_secure) {
      socket_.set(zmq::sockopt::curve_server, true);
      socket_.set(zmq::sockopt::curve_secretkey, hopmeter::read_credential(process_.setup, "server.secret"));
    }
    if (process_.endpoint == "ipc") path_ = process_.setup.directory() + "/" + link.name + ".zmq";
    if (process_.endpoint == "inproc") return bind_at(process_url() + link.name);
    bind_at(path_.empty() ? "tcp://" + process_.setup.bind() + ":*" : "ipc://" + path_);
  }

  void connect(const hopmeter::Link& link) {
    if (link.address.starts_with("inproc:") && !link.address.starts_with(process_url()))
      throw hopmeter::Error(
          "inproc connects only ends of one process, but the other end of " + link.name + " is outside",
          "use placement = \"thread\", or endpoint = \"ipc\"");
    if (process_.is_secure) {
      socket_.set(zmq::sockopt::curve_serverkey, hopmeter::read_credential(process_.setup, "server.public"));
      socket_.set(zmq::sockopt::curve_publickey, hopmeter::read_credential(process_.setup, "client.public"));
      socket_.set(zmq::sockopt::curve_secretkey, hopmeter::read_credential(process_.setup, "client.secret"));
    }
    attempt("connecting to " + link.address, [&] { socket_.connect(link.address); });
  }

  std::string address() const override {
    const auto bound = socket_.get(zmq::sockopt::last_endpoint);
    if (process_.endpoint != "tcp") return bound;
    return "tcp://" + process_.setup.advertised() + bound.substr(bound.rfind(':'));
  }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    return send_after(nullptr, payload_bytes, fill);
  }
  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override { return send(payload_bytes, fill); }
  hopmeter::Sent forward(const hopmeter::Received& received) override { return forward_after(nullptr, received); }

  /// Passes on one message, and releases its memory immediately, so that the next message uses cached memory.
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    zmq::message_t message;
    if (!receive(message, timeout)) return 0;
    take(to_received(message));
    return 1;
  }

  /// Sends a new frame, preceded by a route, if any.
  hopmeter::Sent send_after(zmq::message_t* route, std::size_t payload_bytes, hopmeter::Fill fill) {
    zmq::message_t message;
    if (!allocate(message, hopmeter::header_bytes + payload_bytes)) return hopmeter::Sent::busy;
    fill(std::span(message.data<std::byte>(), message.size()));
    return dispatch(message, route);
  }

  /// Forwards a received message by reference, preceded by a route, if any.
  hopmeter::Sent forward_after(zmq::message_t* route, const hopmeter::Received& received) {
    zmq::message_t message;
    // Copies only the reference. cppzmq lacks a `const` here.
    message.copy(const_cast<zmq::message_t&>(received.require_native<zmq::message_t>("ZeroMQ")));
    return dispatch(message, route);
  }

  /// Receives one message, after waiting at most `timeout` as the link's `wait` requires. Returns whether a message
  /// arrived.
  bool receive(zmq::message_t& message, hopmeter::Timeout timeout) {
    if (!spins_) set_timeout(timeout);
    const int size = ::zmq_msg_recv(message.handle(), socket_.handle(), spins_ ? ZMQ_DONTWAIT : 0);
    if (size >= 0) return true;
    if (errno == EAGAIN || errno == EINTR) return false;
    throw zmq::error_t();
  }

 private:
  /// The prefix of all addresses within this process.
  static std::string process_url() { return "inproc://" + std::to_string(getpid()) + "/"; }

  void bind_at(const std::string& url) {
    attempt("binding " + url, [&] { socket_.bind(url); });
  }

  /// Adds the operation to ZeroMQ's errors, which name the problem but not the object.
  void attempt(const std::string& doing, auto&& act) {
    try {
      act();
    } catch (const zmq::error_t& error) {
      const bool is_long = error.num() == ENAMETOOLONG;
      std::throw_with_nested(hopmeter::Error(doing, is_long ? "set TMPDIR to a folder with a shorter path" : ""));
    }
  }

  bool allocate(zmq::message_t& message, std::size_t size) {
    if (size < Pool::least_bytes) {
      message.rebuild(size);
      return true;
    }
    std::byte* frame = process_.pool.take();
    if (frame) message.rebuild(frame, size, Pool::give_back, &process_.pool);
    return frame != nullptr;
  }

  hopmeter::Sent dispatch(zmq::message_t& message, zmq::message_t* route) {
    if (route) {
      // Sends a copy of the route, because a busy reply is sent again later.
      zmq::message_t copy;
      copy.copy(*route);
      if (!socket_.send(copy, zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return hopmeter::Sent::busy;
    }
    return socket_.send(message, zmq::send_flags::dontwait) ? hopmeter::Sent::accepted : hopmeter::Sent::busy;
  }

  void set_timeout(hopmeter::Timeout timeout) {
    const auto ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
    if (ms != timeout_ms_) socket_.set(zmq::sockopt::rcvtimeo, timeout_ms_ = ms);
  }

  Process& process_;
  zmq::socket_t socket_;
  std::string path_;
  bool spins_;
  int timeout_ms_ = -1;
};
