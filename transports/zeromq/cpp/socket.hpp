/// The sockets of the adapter: how a frame gets into a message of ZeroMQ and out again.
#pragma once

#include "hopmeter/hopmeter.hpp"

#include <filesystem>
#include <zmq.hpp>

#include "pool.hpp"

/// From here on a frame is written into the pool.
inline constexpr std::size_t large_bytes = 64 << 10;

inline std::span<std::byte> bytes(zmq::message_t& message) { return {message.data<std::byte>(), message.size()}; }

/// A second reference to the same bytes, for `Received::keep`.
class KeptMessage final : public hopmeter::Kept {
 public:
  explicit KeptMessage(const void* native) {
    message_.copy(const_cast<zmq::message_t&>(*static_cast<const zmq::message_t*>(native)));
  }
  std::span<const std::byte> bytes() const noexcept override { return {message_.data<std::byte>(), message_.size()}; }
  static std::unique_ptr<hopmeter::Kept> keep(const void* native) { return std::make_unique<KeptMessage>(native); }

 private:
  zmq::message_t message_;
};

/// A received message as the instrument sees it.
inline hopmeter::Received received(const zmq::message_t& message) {
  const std::span<const std::byte> whole(message.data<std::byte>(), message.size());
  return hopmeter::Received::split(whole).with_native(&message).with_keep<KeptMessage::keep>();
}

/// What all ends of the process share. The context ends before the pool, whose frames it gives back.
struct Shop {
  explicit Shop(const hopmeter::Setup& setup)
      : setup(setup), pool(setup.frame_bytes()), context(setup.setting<int>("io_threads")) {}

  bool over_tcp() const { return setup.setting<std::string>("endpoint") == "tcp"; }

  hopmeter::Setup setup;
  Pool pool;
  zmq::context_t context;
};

/// A socket that sends and receives frames without ever waiting longer than it is told.
class Socket {
 public:
  Socket(Shop& shop, zmq::socket_type type)
      : pool_(shop.pool), socket_(shop.context, type), spins_(shop.setup.wait() == hopmeter::Wait::spin) {
    const auto hwm = shop.setup.setting<int>("hwm");
    socket_.set(zmq::sockopt::sndhwm, hwm);
    socket_.set(zmq::sockopt::rcvhwm, hwm);
    socket_.set(zmq::sockopt::linger, 0);
  }

  ~Socket() {
    socket_.close();
    // ZeroMQ removes only the files that it has named itself.
    std::error_code gone_already;
    if (!path_.empty()) std::filesystem::remove(path_, gone_already);
  }

  zmq::socket_t& operator*() noexcept { return socket_; }

  void bind(const hopmeter::Setup& setup, const hopmeter::Link& link) {
    const bool tcp = setup.setting<std::string>("endpoint") == "tcp";
    if (!tcp) path_ = setup.directory() + "/" + link.name + ".zmq";
    const auto endpoint = tcp ? "tcp://127.0.0.1:*" : "ipc://" + path_;
    attempt("binding " + endpoint, [&] { socket_.bind(endpoint); });
  }

  void connect(const hopmeter::Link& link) {
    attempt("connecting to " + link.address, [&] { socket_.connect(link.address); });
  }

  std::string address() const { return socket_.get(zmq::sockopt::last_endpoint); }

  /// Sends a new frame, behind `route` where there is one.
  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill, zmq::message_t* route = nullptr) {
    zmq::message_t message;
    if (!lend(message, hopmeter::header_bytes + payload_bytes)) return hopmeter::Sent::busy;
    fill(bytes(message));
    return send(message, route);
  }

  /// Sends a message that was received, behind `route` where there is one: a reference to it, no copy.
  hopmeter::Sent forward(const hopmeter::Received& received, zmq::message_t* route = nullptr) {
    const auto* native = received.native<zmq::message_t>();
    if (!native) throw hopmeter::Error("this frame did not come by ZeroMQ, so it cannot be moved on");
    zmq::message_t message;
    message.copy(const_cast<zmq::message_t&>(*native));  // copies the reference; cppzmq has forgotten a const
    return send(message, route);
  }

  /// Receives one message, waiting as long as the cell's wait and `timeout` say; answers whether one came.
  bool receive(zmq::message_t& message, hopmeter::Timeout timeout) {
    if (!spins_) set_timeout(timeout);
    const int size = ::zmq_msg_recv(message.handle(), socket_.handle(), spins_ ? ZMQ_DONTWAIT : 0);
    if (size >= 0) return true;
    if (errno == EAGAIN || errno == EINTR) return false;
    throw zmq::error_t();
  }

  /// Hands over one message. It goes back at once, so that the next one comes into memory that is still in the caches.
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) {
    zmq::message_t message;
    if (!receive(message, timeout)) return 0;
    take(received(message));
    return 1;
  }

 private:
  /// ZeroMQ's errors say what is wrong but not with what.
  void attempt(const std::string& doing, auto&& act) {
    try {
      act();
    } catch (const zmq::error_t& error) {
      const bool is_long = error.num() == ENAMETOOLONG;
      std::throw_with_nested(hopmeter::Error(doing, is_long ? "let TMPDIR name a folder with a shorter path" : ""));
    }
  }

  bool lend(zmq::message_t& message, std::size_t size) {
    if (size < large_bytes) {
      message.rebuild(size);
      return true;
    }
    std::byte* frame = pool_.take();
    if (frame) message.rebuild(frame, size, Pool::give_back, &pool_);
    return frame != nullptr;
  }

  hopmeter::Sent send(zmq::message_t& message, zmq::message_t* route) {
    if (route) {
      // The route is sent as a copy: a busy reply is offered again.
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

  Pool& pool_;
  zmq::socket_t socket_;
  std::string path_;
  bool spins_;
  int timeout_ms_ = -1;
};
