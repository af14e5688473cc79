/// Unary calls: a client with a completion queue, and servers with a completion queue or with callbacks on gRPC's
/// threads.
#pragma once

#include <map>

#include "hopmeter/callback_slot.hpp"
#include "server.hpp"

template <class Message>
class CallClient final : public hopmeter::Client {
 public:
  CallClient(const hopmeter::Setup& setup, const hopmeter::Link& link) : link_(link), stub_(connect(setup, link)) {}
  ~CallClient() override {
    for (auto& [tag, call] : calls_) call->context.TryCancel();
    drain(queue_);
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    write(request_, link_, payload_bytes, fill);
    auto call = std::make_unique<Call>();
    call->reader = ((*stub_).*Methods<Message>::call)(&call->context, request_, &queue_);
    call->reader->Finish(&call->reply, &call->status, call.get());
    void* tag = call.get();
    calls_.emplace(tag, std::move(call));
    return hopmeter::Sent::accepted;
  }

  /// A call without a reply counts as unanswered, because its server has disconnected.
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    void* tag = nullptr;
    bool is_ok = false;
    if (queue_.AsyncNext(&tag, &is_ok, deadline_after(timeout)) != grpc::CompletionQueue::GOT_EVENT) return 0;
    const auto call = std::move(calls_.extract(tag).mapped());
    if (!is_ok || !call->status.ok()) return 0;
    hopmeter::hand_over<Layout<Message>>(call->reply, take);
    return 1;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    Message reply;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Message>> reader;
  };

  hopmeter::Link link_;
  std::unique_ptr<Stub> stub_;
  Message request_;
  grpc::CompletionQueue queue_;
  std::map<void*, std::unique_ptr<Call>> calls_;
};

/// Lets `handle` answer a request. Returns the status of the call.
template <class Message>
grpc::Status answer(const hopmeter::Link& link, const Message& request, Message& reply, const auto& handle) {
  hopmeter::MessageReplier<Layout<Message>, Message> replier(link, request, reply);
  hopmeter::hand_over<Layout<Message>>(request, [&](const hopmeter::Received& received) { handle(received, replier); });
  if (replier.has_reply()) return grpc::Status::OK;
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not answered");
}

/// A polled server, which uses gRPC's asynchronous server; one call always waits for the next request.
template <class Message>
class PolledServer final : public hopmeter::Server {
 public:
  PolledServer(const hopmeter::Setup& setup, const hopmeter::Link& link) : link_(link), host_(setup, link) {
    queue_ = host_.builder.AddCompletionQueue();
    host_.start(service_);
    await_request();
  }
  ~PolledServer() override {
    host_.stop();
    drain(*queue_);
  }
  std::string address() const override { return host_.address(); }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Handle handle) override {
    const auto deadline = deadline_after(timeout);
    void* tag = nullptr;
    bool is_ok = false;
    while (queue_->AsyncNext(&tag, &is_ok, deadline) == grpc::CompletionQueue::GOT_EVENT) {
      auto call = std::move(calls_.extract(tag).mapped());
      if (call->is_answered || !is_ok) continue;
      await_request();
      const auto status = answer(link_, call->request, call->reply, handle);
      call->is_answered = true;
      auto& pending = *calls_.emplace(tag, std::move(call)).first->second;
      pending.writer.Finish(pending.reply, status, &pending);
      return 1;
    }
    return 0;
  }

 private:
  struct Call {
    grpc::ServerContext context;
    Message request, reply;
    grpc::ServerAsyncResponseWriter<Message> writer{&context};
    bool is_answered = false;
  };

  void await_request() {
    auto owner = std::make_unique<Call>();
    auto& call = *owner;
    calls_.emplace(&call, std::move(owner));
    (service_.*Methods<Message>::request)(&call.context, &call.request, &call.writer, queue_.get(), queue_.get(),
                                          &call);
  }

  hopmeter::Link link_;
  typename Methods<Message>::CallService service_;
  ServiceHost host_;
  std::map<void*, std::unique_ptr<Call>> calls_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
};

/// A server with callbacks on the threads of gRPC's synchronous server, one request at a time.
class CalledServer final : public hopmeter::Server, private Service {
 public:
  CalledServer(const hopmeter::Setup& setup, const hopmeter::Link& link) : link_(link), host_(setup, link) {
    host_.start(*this);
  }
  ~CalledServer() override { host_.stop(); }
  std::string address() const override { return host_.address(); }
  std::size_t poll(hopmeter::Timeout, hopmeter::Handle) override {
    throw hopmeter::Error("this gRPC server uses callbacks and cannot be polled", "use wait = \"block\" to poll it");
  }
  hopmeter::Owned<hopmeter::Subscription> serve(hopmeter::OnRequest on_request) override {
    return std::make_unique<hopmeter::SlotSubscription<hopmeter::OnRequest>>(slot_, std::move(on_request));
  }

 private:
  grpc::Status CallTiming(grpc::ServerContext*, const Timing* request, Timing* reply) override {
    return call(*request, *reply);
  }
  grpc::Status CallImage(grpc::ServerContext*, const Image* request, Image* reply) override {
    return call(*request, *reply);
  }

  grpc::Status call(const auto& request, auto& reply) {
    grpc::Status status;
    const auto use = [&](const auto& on_request) { status = answer(link_, request, reply, on_request); };
    return slot_->call(use) ? status : grpc::Status(grpc::StatusCode::UNAVAILABLE, "not served");
  }

  hopmeter::Link link_;
  std::shared_ptr<hopmeter::CallbackSlot<hopmeter::OnRequest>> slot_ =
      std::make_shared<hopmeter::CallbackSlot<hopmeter::OnRequest>>();
  ServiceHost host_;
};
