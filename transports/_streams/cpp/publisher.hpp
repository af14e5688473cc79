/// The publisher of a link, which calls `send` once per frame and receiver.
#pragma once

#include "publisher_thread.hpp"
#include "sending_half.hpp"

namespace streams {

class StreamPublisher final : public hopmeter::Publisher {
 public:
  StreamPublisher(const Family& family, const hopmeter::Link& link)
      : StreamPublisher(family, family.listen(link), link.frame_bytes) {}
  ~StreamPublisher() override { family_.remove_endpoint(address_); }

  std::string address() const override { return address_; }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    const std::lock_guard lock(peers_.mutex);
    return peers_.is_ready() ? dispatch(buffer_.write(payload_bytes, fill)) : hopmeter::Sent::busy;
  }

  /// Sends the received bytes without a copy, together with their prefix.
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    const auto message = message_of(received);
    const std::lock_guard lock(peers_.mutex);
    return peers_.is_ready() ? dispatch(message) : hopmeter::Sent::busy;
  }

 private:
  /// Sends a message to all receivers. The publisher's thread sends the unsent bytes to slow receivers. The caller must
  /// hold the mutex.
  hopmeter::Sent dispatch(Message message) {
    const auto sent = peers_.send(message);
    if (peers_.is_any_behind()) thread_.wake();
    return sent;
  }

  StreamPublisher(const Family& family, Endpoint endpoint, std::size_t frame_bytes)
      : family_(family),
        address_(std::move(endpoint.address)),
        thread_(family, std::move(endpoint.listener), peers_),
        buffer_(frame_bytes) {}

  const Family& family_;
  std::string address_;
  Peers peers_;
  PublisherThread thread_;
  MessageBuffer buffer_;
};

}  // namespace streams
