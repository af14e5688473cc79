/// The adapter for POSIX message queues: a queue for each receiver, and one frame in each message. ../README.md
/// describes how receivers join.
#include "../../_streams/cpp/fifo.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/transport_of.hpp"
#include "queue.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;
using mq::Queue;
using streams::Socket;

namespace {

using Clock = std::chrono::steady_clock;
/// How often a publisher checks for additional receivers after the expected ones have joined.
constexpr auto look = 10ms;

/// A publisher's view of a receiver.
struct Receiver {
  Queue queue;
  /// A pipe that the receiver holds open for its lifetime.
  Socket life;

  /// Whether the receiver has closed its pipe or was killed. The queue of a disconnected receiver still exists, because
  /// the publisher has the queue open.
  bool has_gone() const {
    pollfd place{*life, 0, 0};
    return ::poll(&place, 1, 0) > 0 && (place.revents & POLLERR) != 0;
  }
};

class MqPublisher final : public Publisher {
 public:
  MqPublisher(const Setup& setup, const Link& link)
      : folder_(setup.directory()),
        address_(folder_ + "/" + link.name + ".fifo"),
        entrance_(streams::fifo::listen(address_)),
        expected_(link.receivers),
        buffer_(std::min(link.frame_bytes, mq::largest)) {}
  ~MqPublisher() override { ::unlink(address_.c_str()); }  // the launcher removes the folder anyway

  std::string address() const override { return address_; }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    if (receivers_.size() < expected_) admit();
    if (!has_room()) return Sent::busy;
    const auto bytes = header_bytes + payload_bytes;
    if (bytes > buffer_.size()) {
      throw Error("a frame of " + std::to_string(bytes) + " bytes, but the limit is " + std::to_string(buffer_.size()),
                  "a message in these queues has at most " + std::to_string(mq::largest) +
                      " bytes: send smaller messages, or use unix");
    }
    const auto frame = std::span(buffer_).first(bytes);
    fill(frame);
    const auto sent = send_to_all(frame);
    if (Clock::now() - looked_ > look) admit();  // after the send, so that the check delays no frame
    return sent;
  }

 private:
  /// Whether every queue has room, so that no receiver gets a frame twice. A single queue needs no check, because the
  /// send itself reports a full queue.
  bool has_room() {
    if (receivers_.size() < 2) return true;
    std::erase_if(receivers_, [](const Receiver& each) { return each.queue.is_full() && each.has_gone(); });
    return std::ranges::none_of(receivers_, [](const Receiver& each) { return each.queue.is_full(); });
  }

  /// Sends a frame to every queue. If a queue is full, returns busy, or removes the queue's receiver if the receiver
  /// has disconnected.
  Sent send_to_all(std::span<const std::byte> frame) {
    auto full = receivers_.end();
    for (auto each = receivers_.begin(); each != receivers_.end(); ++each) {
      if (each->queue.send(frame) == Sent::busy) full = each;
    }
    if (full == receivers_.end()) return Sent::accepted;
    if (!full->has_gone()) return Sent::busy;
    receivers_.erase(full);
    return Sent::accepted;
  }

  /// Adds the receivers that have joined.
  void admit() {
    while (auto joined = streams::fifo::accept(entrance_, folder_)) {
      auto queue = Queue::open(joined->name);
      if (queue) receivers_.push_back({std::move(*queue), std::move(joined->pipe)});
    }
    looked_ = Clock::now();
  }

  std::string folder_, address_;
  Socket entrance_;
  std::vector<Receiver> receivers_;
  std::size_t expected_;
  Clock::time_point looked_;
  std::vector<std::byte> buffer_;
};

class MqSubscriber final : public Subscriber {
 public:
  MqSubscriber(const Setup& setup, const Link& link) : buffer_(std::min(link.frame_bytes, mq::largest)) {
    auto joined = streams::fifo::connect(link.address, setup.run() + "_", [&](const std::string& name) {
      queue_.emplace(Queue::create(name, setup.setting<long>("depth"), buffer_.size(), link.wait == Wait::block));
    });
    life_ = std::move(joined.pipe);
  }

  std::size_t poll(Timeout timeout, Take take) override {
    const auto frame = queue_->receive(buffer_, timeout);
    if (frame.empty()) return 0;
    take(Received::split(frame));
    return 1;
  }

 private:
  std::vector<std::byte> buffer_;
  std::optional<Queue> queue_;
  /// The open pipe, which shows the publisher that this receiver is alive.
  Socket life_;
};

class Mq final : public TransportOf<Setup, MqPublisher, MqSubscriber> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return streams::kernel_version(); }
  Facts facts() override { return {{"path", "POSIX message queues"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Mq>(argc, argv); }
