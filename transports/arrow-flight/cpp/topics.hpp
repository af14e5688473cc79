/// Publish-subscribe: every receiver opens a DoGet stream, which carries one record batch for each frame.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <semaphore>

#include "hopmeter/completion.hpp"
#include "hopmeter/loop_thread.hpp"
#include "hopmeter/mailbox.hpp"
#include "network.hpp"

/// A queue of record batches for one receiver. The server's thread for the receiver's stream reads the queue.
class Queue final : public arrow::RecordBatchReader {
 public:
  std::shared_ptr<arrow::Schema> schema() const override { return ::schema(); }

  /// Waits for the next batch. A null batch ends the stream.
  arrow::Status ReadNext(Batch* batch) override {
    std::optional<Batch> next;
    while (!next) next = waiting_.pop(nap);
    *batch = *next;
    return arrow::Status::OK();
  }

  bool has_room() const noexcept { return waiting_.has_room(); }
  void push(Batch batch) { waiting_.push(std::move(batch)); }

 private:
  /// The maximum number of queued batches, as in Python.
  static constexpr std::size_t under_way = 16;
  static constexpr std::chrono::minutes nap{1};
  hopmeter::Mailbox<std::optional<Batch>> waiting_{under_way};
};

class TopicPublisher final : public hopmeter::Publisher, private BoundServer {
 public:
  TopicPublisher(const hopmeter::Setup& setup, const hopmeter::Link& link) : options_(write_options(setup)) {
    start(setup, link);
  }

  ~TopicPublisher() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      for (const auto& queue : open_queues()) queue->push(nullptr);
    }
    stop();
  }

  std::string address() const override { return where(); }

  hopmeter::Sent send(std::size_t payload_bytes, hopmeter::Fill fill) override {
    const std::lock_guard lock(mutex_);
    const auto queues = open_queues();
    if (!std::ranges::all_of(queues, &Queue::has_room)) return hopmeter::Sent::busy;
    const auto batch = write_batch(payload_bytes, fill);
    for (const auto& queue : queues) queue->push(batch);
    return hopmeter::Sent::accepted;
  }

 private:
  arrow::Status DoGet(const flight::ServerCallContext&, const flight::Ticket&,
                      std::unique_ptr<flight::FlightDataStream>* stream) override {
    auto queue = std::make_shared<Queue>();
    const std::lock_guard lock(mutex_);
    if (is_over_) queue->push(nullptr);
    queues_.push_back(queue);
    *stream = std::make_unique<flight::RecordBatchStream>(std::move(queue), options_);
    return arrow::Status::OK();
  }

  /// Returns the queues of the connected receivers. The library destroys the queue of a receiver that has disconnected.
  std::vector<std::shared_ptr<Queue>> open_queues() {
    std::vector<std::shared_ptr<Queue>> open;
    std::erase_if(queues_, [&](const std::weak_ptr<Queue>& each) {
      if (auto queue = each.lock()) open.push_back(std::move(queue));
      return each.expired();
    });
    return open;
  }

  arrow::ipc::IpcWriteOptions options_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Queue>> queues_;
  bool is_over_ = false;
};

/// A stream, which a separate thread reads, because reading always blocks. The thread passes each batch to a function.
class ReadStream {
 public:
  template <class Pass>
  ReadStream(const hopmeter::Setup& setup, const hopmeter::Link& link, Pass pass)
      : client_(connect(setup, link)),
        reader_(demand(client_->DoGet(flight::Ticket{link.name}), "opening a stream of " + link.address)),
        thread_([this, pass = std::move(pass)] { read(pass); },
                [this] {
                  reader_->Cancel();
                  is_closing_.set();
                }) {}

 private:
  void read(const auto& pass) {
    auto chunk = reader_->Next();
    if (chunk.ok() && chunk->data)
      pass(std::move(chunk->data));
    else
      is_closing_.wait();  // the stream has ended
  }

  std::unique_ptr<flight::FlightClient> client_;
  std::unique_ptr<flight::FlightStreamReader> reader_;
  hopmeter::Completion is_closing_;
  hopmeter::LoopThread thread_;
};

class TopicSubscription final : public hopmeter::Subscription {
 public:
  TopicSubscription(const hopmeter::Setup& setup, const hopmeter::Link& link, hopmeter::OnFrame on_frame)
      : stream_(setup, link, [on_frame = std::move(on_frame)](const Batch& batch) { on_frame(to_received(*batch)); }) {}

 private:
  ReadStream stream_;
};

/// A polled stream. The thread that reads the stream waits if the queue to the polling thread is full.
class TopicSubscriber final : public hopmeter::Subscriber {
 public:
  TopicSubscriber(const hopmeter::Setup& setup, const hopmeter::Link& link)
      : stream_(setup, link, [this](Batch batch) { push(std::move(batch)); }) {}

  ~TopicSubscriber() override {
    is_closing_ = true;
    room_.release();
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto batch = arrived_.pop(timeout);
    if (!batch) return 0;
    room_.release();
    take(to_received(*batch));
    return 1;
  }

 private:
  /// The destructor releases the semaphore only once. After that, this function must not wait again.
  void push(Batch batch) {
    if (is_closing_) return;
    room_.acquire();
    if (!is_closing_) arrived_.push(std::move(batch));
  }

  /// The queue's length, as in `hopmeter.node.handover`.
  static constexpr std::size_t room = 64;
  std::atomic<bool> is_closing_ = false;
  std::counting_semaphore<> room_{room};
  hopmeter::Mailbox<Batch> arrived_{room};
  ReadStream stream_;
};
