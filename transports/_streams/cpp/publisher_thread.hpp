/// A publisher's thread, which accepts receivers and sends the unsent bytes of slow receivers. The publisher itself
/// sends all other bytes.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <thread>

#include "peers.hpp"

namespace streams {

class PublisherThread {
 public:
  PublisherThread(const Family& family, Socket listener, Peers& peers)
      : family_(family),
        listener_(std::move(listener)),
        peers_(peers),
        event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "making an eventfd") {
    listener_.make_nonblocking();
    thread_ = std::thread([this] { run(); });
  }

  ~PublisherThread() {
    stops_.store(true, std::memory_order_release);
    ::eventfd_write(*event_, 1);
    thread_.join();
  }

  /// Notifies the thread that a receiver has a backlog.
  void wake() const {
    if (::eventfd_write(*event_, 1) != 0) throw Error::system("waking the publisher's thread");
  }

 private:
  void run() noexcept {
    try {
      while (!stops_.load(std::memory_order_acquire)) {
        sleep();
        accept_all();
        const std::lock_guard lock(peers_.mutex);
        peers_.flush();
      }
    } catch (...) {
      const std::lock_guard lock(peers_.mutex);
      peers_.fail(std::current_exception());
    }
  }

  /// Sleeps until a receiver connects, a receiver with a backlog can accept more, or the publisher wakes this thread.
  void sleep() {
    std::vector<pollfd> events{{*event_, POLLIN, 0}, {*listener_, POLLIN, 0}};
    {
      const std::lock_guard lock(peers_.mutex);
      peers_.for_each_behind([&](const Socket& connection) { events.push_back({*connection, POLLOUT, 0}); });
    }
    if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR) throw Error::system("waiting for receivers");
    // Resets the event if it was set.
    eventfd_t ignored;
    ::eventfd_read(*event_, &ignored);
  }

  void accept_all() {
    while (auto connection = family_.accept(listener_)) {
      const std::lock_guard lock(peers_.mutex);
      peers_.add(std::move(*connection));
    }
  }

  const Family& family_;
  Socket listener_;
  Peers& peers_;
  hopmeter::Descriptor event_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace streams
