/// The two kinds of messages: which fields take what of a frame, and which methods of the service carry them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>

#include "hopmeter.grpc.pb.h"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/typed.hpp"

using Stub = hopmeter::wire::Link::Stub;
using Service = hopmeter::wire::Link::Service;

struct TimingKind {
  using Message = hopmeter::wire::Timing;
  using CallService = hopmeter::wire::Link::WithAsyncMethod_CallTiming<Service>;
  using StreamService = hopmeter::wire::Link::WithCallbackMethod_StreamTiming<Service>;

  explicit TimingKind(const hopmeter::Setup&) {}

  static std::string& payload(Message& message) { return *message.mutable_padding(); }
  static const std::string& payload(const Message& message) { return message.padding(); }
  static void dress(Message& message, const hopmeter::Header& header) {
    message.set_id(hopmeter::seq_of(header));
    message.set_nanosec(hopmeter::sent_of(header));
    hopmeter::put_label(header, *message.mutable_source());
  }
  static hopmeter::Header header(const Message& message) {
    return hopmeter::header_of(message.source(), message.nanosec(), message.padding().size());
  }

  /// The synchronous service, whose calls are answered by a function.
  struct Synchronous final : Service {
    using Answer = std::function<grpc::Status(const Message&, Message&)>;
    explicit Synchronous(Answer answer) : answer(std::move(answer)) {}
    grpc::Status CallTiming(grpc::ServerContext*, const Message* request, Message* reply) override {
      return answer(*request, *reply);
    }
    Answer answer;
  };

  /// The streaming service, whose streams are made by a function.
  struct Streaming final : StreamService {
    using Open = std::function<grpc::ServerWriteReactor<Message>*()>;
    explicit Streaming(Open open) : open(std::move(open)) {}
    grpc::ServerWriteReactor<Message>* StreamTiming(grpc::CallbackServerContext*,
                                                    const hopmeter::wire::Receiver*) override {
      return open();
    }
    Open open;
  };

  static constexpr auto call = &Stub::AsyncCallTiming;
  static auto stream(Stub& stub, grpc::ClientContext& context, grpc::CompletionQueue& queue, void* tag) {
    return stub.AsyncStreamTiming(&context, {}, &queue, tag);
  }
  static constexpr auto request = &CallService::RequestCallTiming;
  static void subscribe(Stub& stub, grpc::ClientContext& context, const hopmeter::wire::Receiver& asked,
                        grpc::ClientReadReactor<Message>* reactor) {
    stub.async()->StreamTiming(&context, &asked, reactor);
  }
};

struct ImageKind {
  using Message = hopmeter::wire::Image;
  using CallService = hopmeter::wire::Link::WithAsyncMethod_CallImage<Service>;
  using StreamService = hopmeter::wire::Link::WithCallbackMethod_StreamImage<Service>;

  explicit ImageKind(const hopmeter::Setup& setup) : height_(setup.height()), width_(setup.width()) {}

  static std::string& payload(Message& message) { return *message.mutable_data(); }
  static const std::string& payload(const Message& message) { return message.data(); }
  void dress(Message& message, const hopmeter::Header& header) const {
    message.set_nanosec(hopmeter::sent_of(header));
    hopmeter::put_label(header, *message.mutable_frame_id());
    message.set_height(height_);
    message.set_width(width_);
    message.set_encoding("rgb8");
    message.set_step(width_ * 3);
  }
  static hopmeter::Header header(const Message& message) {
    return hopmeter::header_of(message.frame_id(), message.nanosec(), message.data().size());
  }

  /// The synchronous service, whose calls are answered by a function.
  struct Synchronous final : Service {
    using Answer = std::function<grpc::Status(const Message&, Message&)>;
    explicit Synchronous(Answer answer) : answer(std::move(answer)) {}
    grpc::Status CallImage(grpc::ServerContext*, const Message* request, Message* reply) override {
      return answer(*request, *reply);
    }
    Answer answer;
  };

  /// The streaming service, whose streams are made by a function.
  struct Streaming final : StreamService {
    using Open = std::function<grpc::ServerWriteReactor<Message>*()>;
    explicit Streaming(Open open) : open(std::move(open)) {}
    grpc::ServerWriteReactor<Message>* StreamImage(grpc::CallbackServerContext*,
                                                   const hopmeter::wire::Receiver*) override {
      return open();
    }
    Open open;
  };

  static constexpr auto call = &Stub::AsyncCallImage;
  static auto stream(Stub& stub, grpc::ClientContext& context, grpc::CompletionQueue& queue, void* tag) {
    return stub.AsyncStreamImage(&context, {}, &queue, tag);
  }
  static constexpr auto request = &CallService::RequestCallImage;
  static void subscribe(Stub& stub, grpc::ClientContext& context, const hopmeter::wire::Receiver& asked,
                        grpc::ClientReadReactor<Message>* reactor) {
    stub.async()->StreamImage(&context, &asked, reactor);
  }

 private:
  std::uint32_t height_, width_;
};

/// Has the instrument write a frame into a message. The label is made of the header, so after the stamp.
template <class Kind>
void write(const Kind& kind, typename Kind::Message& message, std::size_t payload_bytes, hopmeter::Fill fill) {
  std::string& payload = Kind::payload(message);
  payload.resize(payload_bytes);
  hopmeter::Header header;
  fill(hopmeter::FrameMut{header, std::as_writable_bytes(std::span(payload))});
  kind.dress(message, header);
}

/// Hands a message over as the instrument sees it, the message itself attached.
template <class Kind, class Take>
void show(const typename Kind::Message& message, Take&& take) {
  const auto header = Kind::header(message);
  take(hopmeter::Received(header, std::as_bytes(std::span(Kind::payload(message)))).with_native(&message));
}
