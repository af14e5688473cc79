/// The server: an RpcServer port.
#pragma once

#include <yarp/os/ConnectionWriter.h>
#include <yarp/os/RpcServer.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "house.hpp"
#include "image.hpp"

namespace yarps {

class Replier final : public hopmeter::Replier {
 public:
  explicit Replier(Image& image) : image_(image) {}

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    write(image_, payload_bytes, fill);
    given_ = true;
    return hopmeter::Sent::accepted;
  }
  bool given() const noexcept { return given_; }

 private:
  Image& image_;
  bool given_ = false;
};

/// A server that answers requests on the thread that reads the connection. If the server is polled, that thread waits
/// for the next poll. YARP's own `read` and `reply` would wait in the same way, but without a timeout.
class Server final : public hopmeter::Server, private yarp::os::PortReader {
 public:
  Server(House& house, const hopmeter::Link& link) : house_(house), spins_(link.wait == hopmeter::Wait::spin) {
    port_.setReader(*this);
    name_ = house.open(port_, link);
  }
  ~Server() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    house_.shut(port_);
  }

  std::string address() const override { return name_; }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    if (spins_ && !waits_) return 0;
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return waits_.load(); })) return 0;
    answer(handle);
    waits_ = false;
    lock.unlock();
    changed_.notify_all();
    return 1;
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override;

 private:
  class Serving;

  bool read(yarp::os::ConnectionReader& connection) override {
    // Each connection has its own reply, because YARP sends the reply from this memory after this function has
    // returned.
    thread_local Image request, reply;
    if (!connection.isValid() || !request.read(connection)) return false;
    if (!answered(request, reply)) return false;
    auto* writer = connection.getWriter();
    return !writer || reply.write(*writer);
  }

  /// Lets the handler answer a request, and returns whether the handler did. Without an answer, the client's call
  /// fails.
  bool answered(const Image& request, Image& reply) {
    const std::lock_guard turn(turn_);
    std::unique_lock lock(mutex_);
    request_ = &request;
    reply_ = &reply;
    given_ = false;
    if (on_request_) {
      answer(*on_request_);
      return given_;
    }
    waits_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !waits_ || closed_ || on_request_; });
    if (waits_.exchange(false) && on_request_) answer(*on_request_);
    return given_;
  }

  void answer(const auto& handler) {
    Replier replier(*reply_);
    handler(frame(*request_), replier);
    given_ = replier.given();
  }

  House& house_;
  bool spins_;
  std::string name_;
  /// Serialises the requests of all connections.
  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// Whether a request is waiting for a poll.
  std::atomic<bool> waits_ = false;
  const Image* request_ = nullptr;
  Image* reply_ = nullptr;
  bool given_ = false, closed_ = false;
  std::optional<hopmeter::OnRequest> on_request_;
  yarp::os::RpcServer port_;
};

/// During this object's lifetime, handles each request on the thread that reads the request.
class Server::Serving final : public hopmeter::Subscription {
 public:
  Serving(Server& server, hopmeter::OnRequest on_request) : server_(server) {
    {
      const std::lock_guard lock(server.mutex_);
      server.on_request_.emplace(std::move(on_request));
    }
    server.changed_.notify_all();
  }
  ~Serving() override {
    const std::lock_guard lock(server_.mutex_);
    server_.on_request_.reset();
  }

 private:
  Server& server_;
};

inline hopmeter::Owned<hopmeter::Subscription> Server::serve(hopmeter::OnRequest on_request) {
  return std::make_unique<Serving>(*this, std::move(on_request));
}

}  // namespace yarps
