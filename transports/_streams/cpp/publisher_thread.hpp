/// The thread beside a publisher: it lets receivers in, and finishes what the publisher had no patience for. It sleeps
/// while neither is needed, and the publisher does all its sending itself.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <thread>

#include "receivers.hpp"

namespace streams {

class Attendant {
 public:
  Attendant(const Family& family, Socket listener, Receivers& receivers)
      : family_(family), listener_(std::move(listener)), receivers_(receivers), event_(::eventfd(0, flags)) {
    if (*event_ < 0) throw Error::system("making an eventfd");
    listener_.make_nonblocking();
    thread_ = std::thread([this] { attend(); });
  }

  ~Attendant() {
    stops_.store(true, std::memory_order_release);
    ::eventfd_write(*event_, 1);
    thread_.join();
  }

  /// Tells it that a receiver is behind.
  void wake() const {
    if (::eventfd_write(*event_, 1) != 0) throw Error::system("waking the publisher's thread");
  }

 private:
  static constexpr int flags = EFD_CLOEXEC | EFD_NONBLOCK;

  void attend() noexcept {
    try {
      while (!stops_.load(std::memory_order_acquire)) {
        sleep();
        admit_all();
        const std::lock_guard lock(receivers_.mutex);
        receivers_.flush();
      }
    } catch (...) {
      const std::lock_guard lock(receivers_.mutex);
      receivers_.fail(std::current_exception());
    }
  }

  /// Until somebody wants to connect, a receiver that is behind takes more, or the publisher calls.
  void sleep() {
    std::vector<pollfd> places{{*event_, POLLIN, 0}, {*listener_, POLLIN, 0}};
    {
      const std::lock_guard lock(receivers_.mutex);
      receivers_.for_each_behind([&](const Socket& connection) { places.push_back({*connection, POLLOUT, 0}); });
    }
    if (::poll(places.data(), places.size(), -1) < 0 && errno != EINTR) throw Error::system("waiting for receivers");
    // Takes the call back; that there is none is fine.
    eventfd_t calls;
    ::eventfd_read(*event_, &calls);
  }

  void admit_all() {
    while (auto connection = accept_on(listener_)) {
      family_.accepted(*connection);
      const std::lock_guard lock(receivers_.mutex);
      receivers_.admit(std::move(*connection));
    }
  }

  const Family& family_;
  Socket listener_;
  Receivers& receivers_;
  Socket event_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace streams
