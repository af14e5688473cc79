/// The service's handler: what Thrift calls with a request, and how it is answered.
#pragma once

#include <functional>
#include <hopmeter/hopmeter.hpp>
#include <utility>

#include "message.hpp"

namespace servers {

/// Writes the reply into the message that Thrift returns.
template <class Message>
class Reply final : public hopmeter::Replier {
 public:
  Reply(const Message& request, Message& message, carriage::Shape shape)
      : request_(request), message_(message), shape_(shape) {}

  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    carriage::write(message_, payload_bytes, fill, shape_);
    given_ = true;
    return hopmeter::Sent::accepted;
  }

  /// The request itself goes back as a message, and its fields need not be written anew.
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    if (received.native<Message>() != &request_) return Replier::forward(received);
    message_ = request_;
    hopmeter::count_copy();
    given_ = true;
    return hopmeter::Sent::accepted;
  }

  bool given() const noexcept { return given_; }

 private:
  const Message& request_;
  Message& message_;
  carriage::Shape shape_;
  bool given_ = false;
};

/// Hands requests to `Handler`, which is a `hopmeter::Handle` or a `hopmeter::OnRequest`.
template <class Handler>
class Answering final : public hopmeter::idl::ExchangeIf {
 public:
  Answering(Handler handler, carriage::Shape shape) : handler_(std::move(handler)), shape_(shape) {}

  void timing(carriage::Timing& reply, const carriage::Timing& request) override { answer(reply, request); }
  void image(carriage::Image& reply, const carriage::Image& request) override { answer(reply, request); }

 private:
  template <class Message>
  void answer(Message& message, const Message& request) {
    Reply<Message> reply(request, message, shape_);
    carriage::read(request, [&](const hopmeter::Received& received) { handler_(received, reply); });
    if (!reply.given()) throw hopmeter::idl::Unanswered();
  }

  Handler handler_;
  carriage::Shape shape_;
};

}  // namespace servers
