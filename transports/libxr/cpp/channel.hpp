/// One link, with its topic and its receivers.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include "topic.hpp"

/// A callback that can be disabled. LibXR cannot remove a registered callback, so the adapter registers a gate, which
/// lives as long as the process's topics.
class Gate {
 public:
  using Give = std::function<void(const hopmeter::Received&)>;

  void open(Give give) {
    const std::lock_guard lock(mutex_);
    give_ = std::move(give);
  }
  /// Removes the callback, after waiting for a running call.
  void close() { open({}); }

  /// The function that LibXR calls on the publisher's thread.
  static void enter(bool, Gate* gate, Bytes<LibXR::Topic> bytes) {
    const auto received = static_cast<const Frame*>(bytes.addr_)->received().stamp_arrival();
    const std::lock_guard lock(gate->mutex_);
    if (gate->give_) gate->give_(received);
  }

 private:
  std::mutex mutex_;
  Give give_;
};

/// A receiver's memory, which may be full.
class Inbox {
 public:
  virtual ~Inbox() = default;
  virtual bool has_room() const = 0;
  /// Records that a frame is about to be published.
  virtual void expect() {}
};

class Channel {
 public:
  explicit Channel(const std::string& name) : topic_(LibXR::Topic::CreateTopic<Frame>(name.c_str())) {}

  LibXR::Topic topic() const { return topic_; }

  /// Creates a gate and registers the gate with LibXR.
  Gate& gate() {
    const std::lock_guard lock(mutex_);
    Gate& gate = gates_.emplace_back();
    auto callback = LibXR::Topic::Callback::Create(Gate::enter, &gate);
    topic_.RegisterCallback(callback);
    return gate;
  }

  /// Returns memory that LibXR may write for the lifetime of the topic.
  Frame& place() {
    const std::lock_guard lock(mutex_);
    return *places_.emplace_back(std::make_unique<Frame>());
  }

  void add(Inbox& inbox) {
    const std::lock_guard lock(mutex_);
    inboxes_.push_back(&inbox);
  }
  void remove(Inbox& inbox) {
    const std::lock_guard lock(mutex_);
    std::erase(inboxes_, &inbox);
  }

  /// Makes each inbox expect a frame if all inboxes have room. Returns whether all inboxes have room.
  bool expect() {
    const std::lock_guard lock(mutex_);
    if (!std::ranges::all_of(inboxes_, [](const Inbox* inbox) { return inbox->has_room(); })) return false;
    for (auto* inbox : inboxes_) inbox->expect();
    return true;
  }

  /// Publishes a frame that the inboxes expect.
  void send(Frame& frame) { publish(topic_, frame); }

 private:
  std::mutex mutex_;
  LibXR::Topic topic_;
  std::list<Gate> gates_;
  std::vector<std::unique_ptr<Frame>> places_;
  std::vector<Inbox*> inboxes_;
};
