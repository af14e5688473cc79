/// Threads that run Cap'n Proto. The objects of Cap'n Proto RPC must stay on the thread that created them, so the link
/// ends exchange frames with such a thread.
#pragma once

#include <kj/async-io.h>
#include <kj/function.h>
#include <kj/vector.h>

#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

/// A thread with a KJ event loop.
class EventLoop {
 public:
  using Job = kj::Function<void()>;

  EventLoop() {
    std::promise<void> started;
    thread_ = std::thread([&] { serve(started); });
    started.get_future().get();
  }

  ~EventLoop() {
    post([this] { stop_->fulfill(); });
    thread_.join();
  }

  /// The event loop that the publishers and subscribers of this thread's endpoint share, as in a program with one event
  /// loop.
  static std::shared_ptr<EventLoop> of_endpoint() {
    thread_local std::weak_ptr<EventLoop> shared;
    auto loop = shared.lock();
    if (!loop) shared = loop = std::make_shared<EventLoop>();
    return loop;
  }

  /// Whether the current thread runs this event loop.
  bool is_here() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

  /// Runs a job on the event loop: at once if this thread runs the event loop, and otherwise soon, in order.
  void call(Job job) {
    if (is_here())
      job();
    else
      post(kj::mv(job));
  }

  /// Runs a job on the event loop, waits for it, and returns its result.
  template <class Act>
  auto run(Act act) {
    std::packaged_task<decltype(act())()> task(std::move(act));
    auto result = task.get_future();
    call([&task] { task(); });
    return result.get();
  }

  /// Starts an operation on the event loop, and waits until its promise is fulfilled.
  template <class Start>
  void wait_for(Start start) {
    std::promise<void> done;
    std::optional<kj::Promise<void>> running;
    run([&] {
      running =
          start()
              .then([&] { done.set_value(); },
                    [&](kj::Exception&& failed) {
                      done.set_exception(std::make_exception_ptr(std::runtime_error(failed.getDescription().cStr())));
                    })
              .eagerlyEvaluate(nullptr);
    });
    auto result = done.get_future();
    result.wait();
    run([&] { running.reset(); });
    result.get();
  }

  /// The sockets and timers, for the event loop's thread only.
  kj::AsyncIoContext& io() noexcept { return *io_; }

  /// Delays the return of the call that the running callback handles until `sent` is fulfilled.
  void wait_after_callback(kj::Promise<void> sent) { sends_.add(kj::mv(sent)); }

  /// Returns a promise, which is fulfilled when all messages of a callback are sent. The callback itself cannot wait,
  /// because only its own thread can send.
  kj::Promise<void> finish_sends() {
    if (sends_.empty()) return kj::READY_NOW;
    return kj::joinPromises(std::exchange(sends_, {}).releaseAsArray());
  }

 private:
  void serve(std::promise<void>& started) noexcept {
    auto io = kj::setupAsyncIo();
    io_ = &io;
    auto stop = kj::newPromiseAndFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    auto jobs = run_jobs().eagerlyEvaluate(nullptr);
    started.set_value();
    stop.promise.wait(io.waitScope);
    sends_.clear();
    wake_ = nullptr;
    stop_ = nullptr;
  }

  kj::Promise<void> run_jobs() {
    auto waking = kj::newPromiseAndCrossThreadFulfiller<void>();
    std::vector<Job> jobs;
    {
      const std::lock_guard lock(mutex_);
      jobs.swap(jobs_);
      wake_ = kj::mv(waking.fulfiller);
    }
    for (auto& job : jobs) attempt(job);
    return waking.promise.then([this] { return run_jobs(); });
  }

  /// Runs a job. The event loop continues if the job fails, because other threads wait for the event loop.
  static void attempt(Job& job) {
    try {
      job();
    } catch (const std::exception& failed) {
      std::cerr << "Cap'n Proto: " << failed.what() << '\n';
    }
  }

  /// Adds a job. Only the first of several waiting jobs wakes the event loop.
  void post(Job job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(kj::mv(job));
    if (jobs_.size() == 1 && wake_) wake_->fulfill();
  }

  std::mutex mutex_;
  std::vector<Job> jobs_;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> wake_;
  kj::Own<kj::PromiseFulfiller<void>> stop_;
  kj::AsyncIoContext* io_ = nullptr;
  kj::Vector<kj::Promise<void>> sends_;
  std::thread thread_;
};

/// An object that exists on the thread of an event loop. Other threads may use the object only in jobs of the event
/// loop.
template <class State>
class Hosted {
 public:
  explicit Hosted(std::shared_ptr<EventLoop> loop, const auto&... arguments) : loop_(std::move(loop)) {
    loop_->run([&] { state_ = std::make_unique<State>(*loop_, arguments...); });
  }
  ~Hosted() {
    loop_->run([this] { state_.reset(); });
  }
  Hosted(Hosted&&) = delete;

  EventLoop& loop() const noexcept { return *loop_; }
  State& operator*() const noexcept { return *state_; }
  State* operator->() const noexcept { return state_.get(); }

 private:
  std::shared_ptr<EventLoop> loop_;
  std::unique_ptr<State> state_;
};
