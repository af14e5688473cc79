/// Publish-subscribe: the publisher is a server, and every receiver opens its own stream.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>

#include "hopmeter/completion.hpp"
#include "server.hpp"

/// All streams of a publisher. Each message is serialised once and sent to all streams. The next send is `busy` until
/// all streams have accepted the message.
template <class Message>
class Streams {
 public:
  ~Streams() {
    std::unique_lock lock(mutex_);
    removed_.wait(lock, [&] { return streams_.empty(); });
  }

  grpc::ServerWriteReactor<Message>* open() {
    const std::lock_guard lock(mutex_);
    streams_.emplace_back(*this);
    if (is_over_) streams_.back().end();
    return &streams_.back();
  }

  bool is_ready() {
    const std::lock_guard lock(mutex_);
    return writing_ == 0;
  }

  /// `message` must not move or change until the last stream has sent it.
  void send(const Message& message) {
    const std::lock_guard lock(mutex_);
    for (auto& stream : streams_) stream.send(message);
  }

  /// Ends all open streams, and every stream that opens later.
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (auto& stream : streams_) stream.end();
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<Message> {
   public:
    explicit Stream(Streams& streams) : streams_(streams) {}
    void send(const Message& message) {
      if (is_ending_) return;
      is_writing_ = true;
      ++streams_.writing_;
      this->StartWrite(&message);
    }
    void end() {
      if (!std::exchange(is_ending_, true) && !is_writing_) this->Finish(grpc::Status::OK);
    }
    void OnWriteDone(bool is_ok) override {
      const std::lock_guard lock(streams_.mutex_);
      is_writing_ = false;
      --streams_.writing_;
      if (!is_ok) is_ending_ = true;
      if (is_ending_) this->Finish(grpc::Status::OK);
    }
    void OnCancel() override {
      const std::lock_guard lock(streams_.mutex_);
      end();
    }
    void OnDone() override { streams_.remove(*this); }

   private:
    Streams& streams_;
    bool is_writing_ = false, is_ending_ = false;
  };

  void remove(Stream& done) {
    const std::lock_guard lock(mutex_);
    streams_.remove_if([&](const Stream& stream) { return &stream == &done; });
    removed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable removed_;
  std::list<Stream> streams_;
  std::size_t writing_ = 0;
  bool is_over_ = false;
};

using StreamService = hopmeter::wire::Link::WithCallbackMethod_StreamTiming<
    hopmeter::wire::Link::WithCallbackMethod_StreamImage<Service>>;

template <class Message>
class StreamPublisher final : public hopmeter::Publisher, private StreamService {
 public:
  StreamPublisher(const hopmeter::Setup& setup, const hopmeter::Link& link) : link_(link), host_(setup, link) {
    host_.start(*this);
  }
  ~StreamPublisher() override {
    streams_.end();
    host_.stop();
  }
  std::string address() const override { return host_.address(); }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (!streams_.is_ready()) return hopmeter::Sent::busy;
    write(message_, link_, payload_bytes, fill);
    streams_.send(message_);
    return hopmeter::Sent::accepted;
  }

 private:
  grpc::ServerWriteReactor<Timing>* StreamTiming(grpc::CallbackServerContext*, const StreamRequest*) override {
    return open<Timing>();
  }
  grpc::ServerWriteReactor<Image>* StreamImage(grpc::CallbackServerContext*, const StreamRequest*) override {
    return open<Image>();
  }

  /// Returns null for a stream of the other message type, to which gRPC answers "not implemented".
  template <class Requested>
  grpc::ServerWriteReactor<Requested>* open() {
    if constexpr (std::same_as<Requested, Message>)
      return streams_.open();
    else
      return nullptr;
  }

  hopmeter::Link link_;
  Message message_;
  Streams<Message> streams_;
  ServiceHost host_;
};

/// A polled stream, which always has one pending read.
template <class Message>
class StreamSubscriber final : public hopmeter::Subscriber {
 public:
  StreamSubscriber(const hopmeter::Setup& setup, const hopmeter::Link& link) : stub_(connect(setup, link)) {
    reader_ = ((*stub_).*Methods<Message>::read)(&context_, StreamRequest(), &queue_, this);
  }
  ~StreamSubscriber() override {
    context_.TryCancel();
    drain(queue_);
  }

  /// The first event reports that the stream is open. A stream that has ended delivers no more messages.
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto deadline = deadline_after(timeout);
    void* tag = nullptr;
    bool is_ok = false;
    while (queue_.AsyncNext(&tag, &is_ok, deadline) == grpc::CompletionQueue::GOT_EVENT && is_ok) {
      const bool is_open = std::exchange(is_open_, true);
      if (is_open) hopmeter::hand_over<Layout<Message>>(message_, take);
      reader_->Read(&message_, this);
      if (is_open) return 1;
    }
    return 0;
  }

 private:
  std::unique_ptr<Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<Message>> reader_;
  Message message_;
  bool is_open_ = false;
};

/// A stream whose messages arrive on gRPC's own threads, one at a time.
template <class Message>
class StreamSubscription final : public hopmeter::Subscription, private grpc::ClientReadReactor<Message> {
 public:
  StreamSubscription(const hopmeter::Setup& setup, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : stub_(connect(setup, link)), on_frame_(std::move(on_frame)) {
    grpc::ClientReadReactor<Message>* reactor = this;
    Methods<Message>::react(*stub_, &context_, &request_, reactor);
    this->StartRead(&message_);
    this->StartCall();
  }
  ~StreamSubscription() override {
    context_.TryCancel();
    done_.wait();
  }

 private:
  void OnReadDone(bool is_ok) override {
    if (!is_ok) return;
    hopmeter::hand_over<Layout<Message>>(message_, on_frame_);
    this->StartRead(&message_);
  }
  void OnDone(const grpc::Status&) override { done_.set(); }

  std::unique_ptr<Stub> stub_;
  hopmeter::OnFrame on_frame_;
  grpc::ClientContext context_;
  StreamRequest request_;
  Message message_;
  hopmeter::Completion done_;
};
