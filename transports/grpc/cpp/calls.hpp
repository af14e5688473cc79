/// Unary calls: asked through a completion queue, answered from one (polled) or on gRPC's own threads (called).
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "ends.hpp"

template <class Kind>
class Asking final : public hopmeter::Client {
 public:
  Asking(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : kind_(setup), stub_(reached(setup, link.address)) {}
  ~Asking() override {
    for (auto& [tag, call] : calls_) call->context.TryCancel();
    finish(queue_);
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    write(kind_, request_, payload_bytes, fill);
    auto call = std::make_unique<Call>();
    call->reader = ((*stub_).*Kind::call)(&call->context, request_, &queue_);
    call->reader->Finish(&call->reply, &call->status, call.get());
    void* tag = call.get();
    calls_.emplace(tag, std::move(call));
    return hopmeter::Sent::accepted;
  }

  /// A call that ended without a reply, for its server is gone, is one that nobody answered.
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    void* tag = nullptr;
    bool done = false;
    if (queue_.AsyncNext(&tag, &done, within(timeout)) != grpc::CompletionQueue::GOT_EVENT) return 0;
    const auto call = std::move(calls_.extract(tag).mapped());
    if (!done || !call->status.ok()) return 0;
    show<Kind>(call->reply, take);
    return 1;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    typename Kind::Message reply;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<typename Kind::Message>> reader;
  };

  Kind kind_;
  std::unique_ptr<Stub> stub_;
  typename Kind::Message request_;
  grpc::CompletionQueue queue_;
  std::map<void*, std::unique_ptr<Call>> calls_;
};

/// Writes the reply into a message; what becomes of it is its owner's.
template <class Kind>
class Answer final : public hopmeter::Replier {
 public:
  using Message = typename Kind::Message;
  Answer(const Kind& kind, const Message& request, Message& reply) : kind_(kind), request_(request), reply_(reply) {}
  hopmeter::Sent reply(std::size_t payload_bytes, hopmeter::Fill fill) override {
    write(kind_, reply_, payload_bytes, fill);
    is_given_ = true;
    return hopmeter::Sent::accepted;
  }
  /// The request itself goes back as a message, and its fields need not be written anew.
  hopmeter::Sent forward(const hopmeter::Received& received) override {
    if (received.native<Message>() != &request_) return Replier::forward(received);
    reply_ = request_;
    hopmeter::count_copy();
    is_given_ = true;
    return hopmeter::Sent::accepted;
  }
  grpc::Status status() const {
    return is_given_ ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "not answered");
  }

 private:
  const Kind& kind_;
  const Message& request_;
  Message& reply_;
  bool is_given_ = false;
};

/// A server that is polled: gRPC's asynchronous one, with one call at hand that waits for its request.
template <class Kind>
class Polled final : public hopmeter::Server {
 public:
  Polled(const hopmeter::Setup& setup, const hopmeter::Link& link) : kind_(setup), bound_(setup, link) {
    bound_.builder.RegisterService(&service_);
    queue_ = bound_.builder.AddCompletionQueue();
    bound_.start();
    await();
  }
  ~Polled() override {
    bound_.stop();
    finish(*queue_);
  }
  std::string address() const override { return bound_.address(); }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    const auto deadline = within(timeout);
    void* tag = nullptr;
    bool done = false;
    while (queue_->AsyncNext(&tag, &done, deadline) == grpc::CompletionQueue::GOT_EVENT) {
      auto call = std::move(calls_.extract(tag).mapped());
      if (call->is_answered || !done) continue;
      await();
      answer(std::move(call), handle);
      return 1;
    }
    return 0;
  }

 private:
  struct Call {
    grpc::ServerContext context;
    typename Kind::Message request, reply;
    grpc::ServerAsyncResponseWriter<typename Kind::Message> writer{&context};
    bool is_answered = false;
  };

  void await() {
    auto made = std::make_unique<Call>();
    auto& call = *made;
    calls_.emplace(&call, std::move(made));
    (service_.*Kind::request)(&call.context, &call.request, &call.writer, queue_.get(), queue_.get(), &call);
  }

  void answer(std::unique_ptr<Call> made, hopmeter::Handle handle) {
    Answer<Kind> answer(kind_, made->request, made->reply);
    show<Kind>(made->request, [&](const hopmeter::Received& received) { handle(received, answer); });
    auto& call = *made;
    call.is_answered = true;
    calls_.emplace(&call, std::move(made));
    call.writer.Finish(call.reply, answer.status(), &call);
  }

  Kind kind_;
  typename Kind::CallService service_;
  Bound bound_;
  std::map<void*, std::unique_ptr<Call>> calls_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
};

/// A server that gRPC calls on the threads of its synchronous one; one request at a time.
template <class Kind>
class Called final : public hopmeter::Server {
 public:
  Called(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : kind_(setup),
        service_([this](const auto& request, auto& reply) { return answer(request, reply); }),
        bound_(setup, link) {
    bound_.builder.RegisterService(&service_);
    bound_.start();
  }
  ~Called() override { bound_.stop(); }
  std::string address() const override { return bound_.address(); }
  std::size_t poll(hopmeter::Timeout, hopmeter::Handle) override {
    throw hopmeter::Error("this gRPC server waits to be called", "use wait = \"block\" to poll it");
  }

  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    const std::lock_guard lock(mutex_);
    on_request_.emplace(std::move(on_request));
    return std::make_unique<Serving>(*this);
  }

 private:
  /// Requests before it exists and after it is gone are told that nobody answers.
  struct Serving final : hopmeter::Subscription {
    explicit Serving(Called& called) : called(called) {}
    ~Serving() override {
      const std::lock_guard lock(called.mutex_);
      called.on_request_.reset();
    }
    Called& called;
  };

  grpc::Status answer(const typename Kind::Message& request, typename Kind::Message& reply) {
    const std::lock_guard lock(mutex_);
    Answer<Kind> answer(kind_, request, reply);
    if (on_request_) {
      show<Kind>(request, [&](const hopmeter::Received& received) { (*on_request_)(received, answer); });
    }
    return answer.status();
  }

  Kind kind_;
  typename Kind::Synchronous service_;
  Bound bound_;
  std::mutex mutex_;
  std::optional<hopmeter::OnRequest> on_request_;
};
