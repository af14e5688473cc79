/// Carries frames within one process, by a direct call or through a bounded queue. The Rust adapter in ../rust works in
/// the same way; its comments explain the design.
#include <unordered_map>

#include "channel.hpp"

using namespace hopmeter;

namespace memory {
namespace {

/// A second reference to a frame, which keeps the frame's bytes valid.
class ReferenceHolder final : public FrameHolder {
 public:
  explicit ReferenceHolder(Frame frame) : frame_(std::move(frame)) {}
  std::span<const std::byte> bytes() const noexcept override { return *frame_; }
  static std::unique_ptr<FrameHolder> keep(const void* native) {
    return std::make_unique<ReferenceHolder>(*static_cast<const Frame*>(native));
  }

 private:
  Frame frame_;
};

/// Converts a frame to the receivers' type, including the reference that `forward` and `keep` need.
Received borrow(const Frame& frame) {
  return Received::split(*frame).with_native(&frame).with_keep<ReferenceHolder::keep>();
}

class Sender final : public Publisher {
 public:
  Sender(std::shared_ptr<Channel> channel, std::size_t queue) : channel_(std::move(channel)), pool_(queue + 2) {}

  Sent send(std::size_t payload_bytes, Fill fill) override {
    return channel_->send([&]() -> std::pair<const Frame*, Received> {
      const Frame* frame = pool_.take(payload_bytes);
      if (!frame) return {nullptr, Received({}, {})};
      const Received received = borrow(*frame);
      fill(std::span(**frame));
      return {frame, received};
    });
  }

  Sent forward(const Received& received) override {
    const auto* frame = received.native<Frame>();
    if (!frame) return Publisher::forward(received);
    return channel_->send([&] { return std::pair(frame, received.with_keep<ReferenceHolder::keep>()); });
  }

 private:
  std::shared_ptr<Channel> channel_;
  Pool pool_;
};

class Receiver final : public Subscriber {
 public:
  Receiver(std::shared_ptr<Channel> channel, std::size_t queue)
      : queue_(queue), membership_(std::move(channel), queue_) {}

  std::size_t poll(Timeout timeout, Take take) override {
    const Frame frame = queue_.pop(timeout);
    if (!frame) return 0;
    take(borrow(frame));
    return 1;
  }

 private:
  Queue queue_;
  Membership<Queue> membership_;
};

class Called final : public Subscription {
 public:
  Called(std::shared_ptr<Channel> channel, OnFrame on_frame)
      : on_frame_(std::move(on_frame)), membership_(std::move(channel), on_frame_) {}

 private:
  OnFrame on_frame_;
  Membership<OnFrame> membership_;
};

class Memory final : public Transport {
 public:
  explicit Memory(const Setup& setup) : queue_(setup.setting<std::size_t>("queue")) {}

  static std::string version() { return hopmeter_version(); }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Sender>(channel(link), queue_); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Receiver>(channel(link), queue_); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return std::make_unique<Called>(channel(link), std::move(on_frame));
  }
  Facts facts() override { return {{"path", "memory of this process"}}; }

 private:
  /// Returns the link's channel. Either link end may be opened first.
  std::shared_ptr<Channel> channel(const Link& link) {
    const std::lock_guard lock(mutex_);
    auto& channel = channels_[link.name];
    if (!channel) channel = std::make_shared<Channel>();
    return channel;
  }

  std::size_t queue_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Channel>> channels_;
};

}  // namespace
}  // namespace memory

int main(int argc, char** argv) { return hopmeter::run<memory::Memory>(argc, argv); }
