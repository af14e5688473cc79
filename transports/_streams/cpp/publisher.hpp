/// The sending end: one frame, one `send` for each receiver.
#pragma once

#include "attendant.hpp"
#include "line.hpp"

namespace streams {

/// The publisher of a link.
class Sender final : public hopmeter::Publisher {
 public:
  Sender(const Family& family, const hopmeter::Link& link, std::size_t frame_bytes)
      : Sender(family, family.listen(link), frame_bytes) {}
  ~Sender() override { family_.removed(address_); }

  std::string address() const override { return address_; }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    const std::lock_guard lock(receivers_.mutex);
    return receivers_.are_ready() ? dispatch(draft_.message(payload_bytes, fill)) : hopmeter::Sent::busy;
  }

  /// Sends the bytes from where they were received, with the prefix that stands before them already.
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto message = message_of(received);
    const std::lock_guard lock(receivers_.mutex);
    return receivers_.are_ready() ? dispatch(message) : hopmeter::Sent::busy;
  }

 private:
  /// Sends a message, and leaves to the attendant what a receiver was too slow for. The mutex is held.
  hopmeter::Sent dispatch(Message message) {
    const auto sent = receivers_.send(message);
    if (receivers_.are_behind()) attendant_.wake();
    return sent;
  }

  Sender(const Family& family, Endpoint endpoint, std::size_t frame_bytes)
      : family_(family),
        address_(std::move(endpoint.address)),
        attendant_(family, std::move(endpoint.listener), receivers_),
        draft_(frame_bytes) {}

  const Family& family_;
  std::string address_;
  Receivers receivers_;
  Attendant attendant_;
  Draft draft_;
};

}  // namespace streams
