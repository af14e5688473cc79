/// The client: an RpcClient port, and a thread that makes the calls, because the port's calls always block.
#pragma once

#include <yarp/os/RpcClient.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "house.hpp"
#include "image.hpp"

namespace yarps {

class Client final : public hopmeter::Client {
 public:
  Client(House& house, const hopmeter::Link& link)
      : house_(house), server_(link.address), spins_(link.wait == hopmeter::Wait::spin) {
    house.demand_replies();
    // This timeout limits how long an unanswered call delays the closing of its port.
    port_.asPort().setTimeout(house.setup.setting<float>("patience"));
    name_ = house.open(port_, link);
    house.connect(name_, server_);
    thread_ = std::thread([this] { run(); });
  }

  ~Client() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
    house_.shut(port_);
  }

  hopmeter::Sent start(std::size_t payload_bytes, hopmeter::Fill fill) override {
    if (calls_) return hopmeter::Sent::busy;
    write(request_, payload_bytes, fill);
    {
      const std::lock_guard lock(mutex_);
      calls_ = true;
    }
    changed_.notify_all();
    return hopmeter::Sent::accepted;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    if (spins_ && !has_replies_) return 0;
    auto reply = next(timeout);
    if (!reply) return 0;
    take(frame(*reply));
    const std::lock_guard lock(mutex_);
    spare_ = std::move(reply);
    return 1;
  }

 private:
  using Reply = std::unique_ptr<Image>;

  Reply next(hopmeter::Timeout timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return !replies_.empty(); })) return nullptr;
    auto reply = std::move(replies_.front());
    replies_.pop_front();
    has_replies_ = !replies_.empty();
    return reply;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closed_ || calls_; });
      if (closed_) return;
      auto reply = spare_ ? std::move(spare_) : std::make_unique<Image>();
      lock.unlock();
      const bool came = call(*reply);
      lock.lock();
      came ? replies_.push_back(std::move(reply)) : void(spare_ = std::move(reply));
      has_replies_ = !replies_.empty();
      calls_ = false;
      changed_.notify_all();
    }
  }

  /// Makes a call. Reconnects first if necessary, because YARP drops the connection when a call fails.
  bool call(Image& reply) {
    const bool connected = port_.getOutputCount() > 0 || house_.connects(name_, server_);
    return connected && port_.write(request_, reply);
  }

  House& house_;
  std::string name_, server_;
  bool spins_;
  yarp::os::RpcClient port_;
  /// This field is written only while there is no current call.
  Image request_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// Whether there is a current call, and whether any reply waits for a poll.
  std::atomic<bool> calls_ = false, has_replies_ = false;
  std::deque<Reply> replies_;
  Reply spare_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace yarps
