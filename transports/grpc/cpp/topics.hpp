/// Publish and subscribe: the publisher is a server, and every receiver keeps a stream of its own open.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>

#include "ends.hpp"

/// All streams of a publisher. A message is written once and sent to all; the next is `busy` until all have taken it.
template <class Kind>
class Streams {
 public:
  using Message = typename Kind::Message;

  ~Streams() {
    std::unique_lock lock(mutex_);
    gone_.wait(lock, [&] { return streams_.empty(); });
  }

  grpc::ServerWriteReactor<Message>* open() {
    const std::lock_guard lock(mutex_);
    streams_.emplace_back(*this);
    if (is_over_) streams_.back().end();
    return &streams_.back();
  }

  bool are_ready() {
    const std::lock_guard lock(mutex_);
    return writing_ == 0;
  }

  /// The message stays where it is until the last stream has taken it.
  void send(const Message& message) {
    const std::lock_guard lock(mutex_);
    for (auto& stream : streams_) stream.take(message);
  }

  /// Ends all streams that are there and all that come.
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (auto& stream : streams_) stream.end();
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<Message> {
   public:
    explicit Stream(Streams& all) : all_(all) {}
    void take(const Message& message) {
      if (is_ending_) return;
      is_writing_ = true;
      ++all_.writing_;
      this->StartWrite(&message);
    }
    void end() {
      if (std::exchange(is_ending_, true) || is_writing_) return;
      this->Finish(grpc::Status::OK);
    }
    void OnWriteDone(bool good) override {
      const std::lock_guard lock(all_.mutex_);
      is_writing_ = false;
      --all_.writing_;
      if (is_ending_ || !good) finish();
    }
    void OnCancel() override {
      const std::lock_guard lock(all_.mutex_);
      if (!std::exchange(is_ending_, true) && !is_writing_) finish();
    }
    void OnDone() override { all_.forget(*this); }

   private:
    void finish() {
      is_ending_ = true;
      this->Finish(grpc::Status::OK);
    }
    Streams& all_;
    bool is_writing_ = false, is_ending_ = false;
  };

  void forget(Stream& gone) {
    const std::lock_guard lock(mutex_);
    streams_.remove_if([&](const Stream& stream) { return &stream == &gone; });
    gone_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable gone_;
  std::list<Stream> streams_;
  std::size_t writing_ = 0;
  bool is_over_ = false;
};

template <class Kind>
class Sending final : public hopmeter::Publisher {
 public:
  Sending(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : kind_(setup), service_([this] { return streams_.open(); }), bound_(setup, link) {
    bound_.builder.RegisterService(&service_);
    bound_.start();
  }
  ~Sending() override {
    streams_.end();
    bound_.stop();
  }
  std::string address() const override { return bound_.address(); }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (!streams_.are_ready()) return hopmeter::Sent::busy;
    write(kind_, message_, payload_bytes, fill);
    streams_.send(message_);
    return hopmeter::Sent::accepted;
  }

 private:
  Kind kind_;
  typename Kind::Message message_;
  Streams<Kind> streams_;
  typename Kind::Streaming service_;
  Bound bound_;
};

/// A stream that is polled: one read is always under way.
template <class Kind>
class Receiving final : public hopmeter::Subscriber {
 public:
  Receiving(const hopmeter::Setup& setup, const hopmeter::Link& link) : stub_(reached(setup, link.address)) {
    reader_ = Kind::stream(*stub_, context_, queue_, this);
  }
  ~Receiving() override {
    context_.TryCancel();
    finish(queue_);
  }

  /// The first event is that the stream is open; a stream that has ended brings nothing more.
  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto deadline = within(timeout);
    void* tag = nullptr;
    bool good = false;
    while (queue_.AsyncNext(&tag, &good, deadline) == grpc::CompletionQueue::GOT_EVENT && good) {
      const bool is_open = std::exchange(is_open_, true);
      if (is_open) show<Kind>(message_, take);
      reader_->Read(&message_, this);
      if (is_open) return 1;
    }
    return 0;
  }

 private:
  std::unique_ptr<Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<typename Kind::Message>> reader_;
  typename Kind::Message message_;
  bool is_open_ = false;
};

/// A stream whose messages gRPC's own threads hand over, one at a time.
template <class Kind>
class Reacting final : public hopmeter::Subscription, grpc::ClientReadReactor<typename Kind::Message> {
 public:
  Reacting(const hopmeter::Setup& setup, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : stub_(reached(setup, link.address)), on_frame_(std::move(on_frame)) {
    Kind::subscribe(*stub_, context_, asked_, this);
    this->StartRead(&message_);
    this->StartCall();
  }
  ~Reacting() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return is_done_; });
  }

 private:
  void OnReadDone(bool good) override {
    if (!good) return;
    show<Kind>(message_, on_frame_);
    this->StartRead(&message_);
  }
  void OnDone(const grpc::Status&) override {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_.notify_all();
  }

  std::unique_ptr<Stub> stub_;
  hopmeter::OnFrame on_frame_;
  grpc::ClientContext context_;
  hopmeter::wire::Receiver asked_;
  typename Kind::Message message_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
};
