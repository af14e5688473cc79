/// No transport at all: a frame is filled, and the receiver is called with it. What this takes is the instrument's own
/// part of a hop whose receiver runs on the sender's thread; the instrument measures it beside such cells.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "hopmeter/bridge.hpp"

namespace hopmeter::detail {

class Empty final : public Transport {
 public:
  explicit Empty(const Setup&) {}
  static std::string version() { return hopmeter_version(); }

  Owned<Publisher> publisher(const Link&) override { return std::make_unique<Caller>(called_); }
  Owned<Subscription> subscribe(const Link&, OnFrame on_frame) override {
    return std::make_unique<Registered>(called_, std::move(on_frame));
  }

 private:
  /// The one receiver that there may be.
  struct Called {
    std::mutex mutex;
    std::optional<OnFrame> on_frame;
  };

  class Registered final : public Subscription {
   public:
    Registered(std::shared_ptr<Called> called, OnFrame on_frame) : called_(std::move(called)) {
      const std::lock_guard lock(called_->mutex);
      called_->on_frame.emplace(std::move(on_frame));
    }
    ~Registered() override {
      const std::lock_guard lock(called_->mutex);
      called_->on_frame.reset();
    }

   private:
    std::shared_ptr<Called> called_;
  };

  class Caller final : public Publisher {
   public:
    explicit Caller(std::shared_ptr<Called> called) : called_(std::move(called)) {}

    Sent send(std::size_t payload_bytes, Fill fill) override {
      frame_.resize(header_bytes + payload_bytes);
      const std::lock_guard lock(called_->mutex);
      if (!called_->on_frame) return Sent::busy;
      fill(std::span(frame_));
      (*called_->on_frame)(Received::split(frame_));
      return Sent::accepted;
    }

   private:
    std::shared_ptr<Called> called_;
    std::vector<std::byte> frame_;
  };

  std::shared_ptr<Called> called_ = std::make_shared<Called>();
};

}  // namespace hopmeter::detail
