/// One link: its topic and those who receive from it.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include "topic.hpp"

/// A subscription that can end. LibXR's cannot: what it was told to call stays in the topic for good, so that is this
/// gate, which lives as long as the process has topics.
class Gate {
 public:
  using Give = std::function<void(const Frame&)>;

  void open(Give give) {
    const std::lock_guard lock(mutex_);
    give_ = std::move(give);
  }
  /// Returns when no call is running.
  void close() { open({}); }

  /// What LibXR calls, on the publisher's thread.
  static void enter(bool, Gate* gate, Bytes<LibXR::Topic> bytes) {
    const std::lock_guard lock(gate->mutex_);
    if (gate->give_) gate->give_(*static_cast<const Frame*>(bytes.addr_));
  }

 private:
  std::mutex mutex_;
  Give give_;
};

/// Something that can be full.
class Inbox {
 public:
  virtual ~Inbox() = default;
  virtual bool has_room() const = 0;
  /// A frame is about to be published.
  virtual void expect() {}
};

class Channel {
 public:
  explicit Channel(const std::string& name) : topic_(LibXR::Topic::CreateTopic<Frame>(name.c_str())) {}

  LibXR::Topic topic() const { return topic_; }

  /// A new gate, told LibXR.
  Gate& gate() {
    const std::lock_guard lock(mutex_);
    Gate& gate = gates_.emplace_back();
    auto callback = LibXR::Topic::Callback::Create(Gate::enter, &gate);
    topic_.RegisterCallback(callback);
    return gate;
  }

  /// A place that LibXR may write to for as long as there is the topic.
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

  bool has_room() {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(inboxes_, [](const Inbox* inbox) { return inbox->has_room(); });
  }

  /// Publishes, if all inboxes have room.
  hopmeter::Sent send(Frame& frame) {
    {
      const std::lock_guard lock(mutex_);
      if (!std::ranges::all_of(inboxes_, [](const Inbox* inbox) { return inbox->has_room(); }))
        return hopmeter::Sent::busy;
      for (auto* inbox : inboxes_) inbox->expect();
    }
    publish(topic_, frame);
    return hopmeter::Sent::accepted;
  }

 private:
  std::mutex mutex_;
  LibXR::Topic topic_;
  std::list<Gate> gates_;
  std::vector<std::unique_ptr<Frame>> places_;
  std::vector<Inbox*> inboxes_;
};
