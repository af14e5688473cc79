/// The adapter for LibXR's topics: frames are published as objects of one type, on the publisher's thread. ../README.md
/// has details.
#include <unordered_map>

#include "channel.hpp"

using namespace hopmeter;

namespace {

std::uint32_t milliseconds(Timeout timeout) {
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
}

class Pub final : public Publisher {
 public:
  explicit Pub(Channel& channel) : channel_(channel), frame_(std::make_unique<Frame>()) {}

  Sent send(std::size_t payload_bytes, Fill fill) override {
    if (!channel_.expect()) return Sent::busy;
    frame_->bytes = header_bytes + payload_bytes;
    fill(std::span(frame_->data).first(frame_->bytes));
    channel_.send(*frame_);
    return Sent::accepted;
  }

  /// LibXR takes a mutable object, but does not change the object.
  Sent forward(const Received& received) override {
    const auto* frame = received.native<Frame>();
    if (!frame) return Publisher::forward(received);
    if (!channel_.expect()) return Sent::busy;
    channel_.send(const_cast<Frame&>(*frame));
    return Sent::accepted;
  }

 private:
  Channel& channel_;
  std::unique_ptr<Frame> frame_;
};

/// A SyncSubscriber: LibXR copies a frame into the subscriber's memory and wakes the waiting thread.
class Sync final : public Subscriber, private Inbox {
  using Native = LibXR::Topic::SyncSubscriber<Frame>;

 public:
  explicit Sync(Channel& channel) : channel_(channel), place_(channel.place()), native_(channel.topic(), place_) {
    channel_.add(*this);
  }
  ~Sync() override { channel_.remove(*this); }

  std::size_t poll(Timeout timeout, Take take) override {
    if (!is_ok(native_.Wait(milliseconds(timeout)))) return 0;
    take(place_.received());
    is_free_.store(true, std::memory_order_release);
    return 1;
  }

 private:
  bool has_room() const override { return has_room(native_); }
  void expect() override { is_free_.store(false, std::memory_order_relaxed); }

  template <class Subscriber>
  bool has_room(const Subscriber& native) const {
    if constexpr (KnowsItWaits<Subscriber>)
      return is_waiting(native);
    else
      return is_free_.load(std::memory_order_acquire);
  }

  Channel& channel_;
  Frame& place_;
  Native native_;
  std::atomic<bool> is_free_ = true;
};

/// A receiver that can hold several frames, unlike a SyncSubscriber. A callback copies each frame into a queue, and the
/// receiver waits at a LibXR semaphore.
class Queued final : public Subscriber, private Inbox {
 public:
  Queued(Channel& channel, std::size_t queue) : channel_(channel), gate_(channel.gate()), ring_(queue) {
    channel_.add(*this);
    gate_.open([this](const Received& received) { push(*received.native<Frame>()); });
  }
  ~Queued() override {
    gate_.close();
    channel_.remove(*this);
  }

  std::size_t poll(Timeout timeout, Take take) override {
    if (!is_ok(filled_.Wait(milliseconds(timeout)))) return 0;
    take(ring_[first_]->received());
    first_ = (first_ + 1) % ring_.size();
    length_.fetch_sub(1, std::memory_order_release);
    return 1;
  }

 private:
  bool has_room() const override { return length_.load(std::memory_order_acquire) < ring_.size(); }

  /// The queue has room, because the link's only publisher has checked this before.
  void push(const Frame& frame) {
    auto& place = ring_[next_];
    if (!place) place = std::make_unique<Frame>();
    *place = frame;
    next_ = (next_ + 1) % ring_.size();
    length_.fetch_add(1, std::memory_order_release);
    filled_.Post();
  }

  Channel& channel_;
  Gate& gate_;
  /// Frames are allocated when they are first used.
  std::vector<std::unique_ptr<Frame>> ring_;
  std::size_t first_ = 0, next_ = 0;
  std::atomic<std::size_t> length_ = 0;
  LibXR::Semaphore filled_;
};

/// A receiver with LibXR's own callback.
class Called final : public Subscription {
 public:
  Called(Channel& channel, OnFrame on_frame) : on_frame_(std::move(on_frame)), gate_(channel.gate()) {
    gate_.open([this](const Received& received) { on_frame_(received); });
  }
  ~Called() override { gate_.close(); }

 private:
  OnFrame on_frame_;
  Gate& gate_;
};

class LibXr final : public Transport {
 public:
  explicit LibXr(const Setup& setup) : setup_(setup), is_sync_(setup.setting<std::string>("subscriber") == "sync") {}

  static std::string version() {
    const std::string commit = LIBXR_COMMIT;
    const auto* topics = SizedTopic<LibXR::Topic> ? "topics of any size" : "topics of one size";
    return "LibXR " + (commit.empty() ? "of an unknown commit" : commit) + ", " + topics;
  }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Pub>(channel(link)); }
  Owned<Subscriber> subscriber(const Link& link) override {
    copies_ = true;
    if (is_sync_) return std::make_unique<Sync>(channel(link));
    return std::make_unique<Queued>(channel(link), setup_.setting<std::size_t>("queue"));
  }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    calls_ = true;
    return std::make_unique<Called>(channel(link), std::move(on_frame));
  }
  Facts facts() override {
    const char* how = !calls_ ? "one copy" : copies_ ? "by reference to callbacks, one copy to others" : "by reference";
    return {{"path", std::string("memory of this process, ") + how}};
  }

 private:
  /// Returns the link's channel. Either link end may be opened first.
  Channel& channel(const Link& link) {
    const std::lock_guard lock(mutex_);
    return channels_.try_emplace(link.name, link.name).first->second;
  }

  Setup setup_;
  bool is_sync_;
  /// Whether the process has callback receivers, and whether the process has polled receivers, which copy frames.
  std::atomic<bool> calls_ = false, copies_ = false;
  std::mutex mutex_;
  std::unordered_map<std::string, Channel> channels_;
};

}  // namespace

int main(int argc, char** argv) {
  hopmeter_copy_with(LibXR::Memory::FastCopy);
  return run<LibXr>(argc, argv);
}
