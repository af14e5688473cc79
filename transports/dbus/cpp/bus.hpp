/// A connection to dbus-daemon with sd-bus. Only one thread at a time may use a connection.
#pragma once

#include <sys/socket.h>
#include <systemd/sd-bus.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/resource.hpp"

namespace hopmeter {

using Message = Resource<sd_bus_message, sd_bus_message_unref>;

/// Throws an error with the cause if an sd-bus function returned a negative `result`. Otherwise returns `result`.
inline int demand(int result, const std::string& doing) {
  if (result < 0) throw Error(doing + ": " + std::strerror(-result));
  return result;
}

class Bus {
 public:
  /// Connects to the broker, and waits until the broker has given the connection its unique name.
  explicit Bus(const std::string& address) {
    const auto doing = "connecting to dbus-daemon at " + address;
    sd_bus* raw = nullptr;
    demand(sd_bus_new(&raw), doing);
    bus_.reset(raw);
    demand(sd_bus_set_address(raw, address.c_str()), doing);
    demand(sd_bus_set_bus_client(raw, true), doing);
    demand(sd_bus_start(raw), doing);
    const char* unique_name = nullptr;
    demand(sd_bus_get_unique_name(raw, &unique_name), doing);
  }

  sd_bus* raw() const { return bus_.get(); }

  /// Sends a signal or a reply, and waits until the socket has accepted it.
  Sent send(const Message& message) const { return send(message, nullptr); }

  /// Sends a request, and waits until the socket has accepted it.
  Sent request(const Message& message) const {
    std::uint64_t cookie = 0;  // without a cookie, sd-bus tells the server that the client expects no reply
    return send(message, &cookie);
  }

  /// Returns the next message for which `is_wanted` is true, or null if none has arrived. Waits at most `timeout` for
  /// bytes from the broker.
  Message next(Timeout timeout, const auto& is_wanted) const {
    auto message = process(is_wanted);
    if (message || timeout <= Timeout::zero()) return message;
    if (!is_closing_) check(sd_bus_wait(raw(), static_cast<std::uint64_t>(timeout.count()) / 1000));
    return process(is_wanted);
  }

  /// Ends the wait of another thread. Afterwards, `next` returns no messages.
  void stop() const {
    is_closing_ = true;
    ::shutdown(sd_bus_get_fd(raw()), SHUT_RDWR);
  }

 private:
  Sent send(const Message& message, std::uint64_t* cookie) const {
    demand(sd_bus_send(raw(), message.get(), cookie), "sending to dbus-daemon");
    demand(sd_bus_flush(raw()), "sending to dbus-daemon");
    return Sent::accepted;
  }

  /// Processes the messages that have arrived, up to the first wanted message. Returns this message, or null.
  Message process(const auto& is_wanted) const {
    sd_bus_message* raw_message = nullptr;
    while (!is_closing_ && check(sd_bus_process(raw(), &raw_message)) > 0) {
      Message message(raw_message);
      if (message && is_wanted(message.get())) return message;
    }
    return {};
  }

  int check(int result) const { return is_closing_ ? 0 : demand(result, "receiving from dbus-daemon"); }

  Resource<sd_bus, sd_bus_flush_close_unref> bus_;
  mutable std::atomic<bool> is_closing_ = false;
};

}  // namespace hopmeter
