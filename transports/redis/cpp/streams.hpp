/// Redis Streams: publishers that append messages to a stream of the broker, and receivers that read the stream.
#pragma once

#include <algorithm>
#include <limits>

#include "connection.hpp"
#include "hopmeter/draft.hpp"

namespace hopmeter {

/// Appends frames with XADD to the stream with the link's name. If `max_pending` is 1, each send waits for the broker's
/// reply. Otherwise, a send waits only while `max_pending` messages are unconfirmed.
class StreamWriter final : public Publisher {
 public:
  StreamWriter(const Setup& setup, const Link& link)
      : key_(link.name),
        max_pending_(setup.setting<int>("max_pending")),
        max_length_(setup.setting<std::uint64_t>("max_length")),
        connection_(setup) {}

  /// Waits for the outstanding replies, unless the broker has ended.
  ~StreamWriter() override {
    try {
      await_replies(0);
    } catch (const Error&) {  // an exception that leaves a destructor would end the process
      unconfirmed_ = 0;
    }
  }

  Sent send(std::size_t payload_bytes, Fill fill) override { return append(draft_.write(payload_bytes, fill)); }

  /// Sends the received bytes without a copy.
  Sent forward(const Received& received) override {
    return append(received.require_native<std::span<const std::byte>>("Redis"));
  }

 private:
  /// If `max_length` is 0, the size in bytes above which the broker deletes a stream's oldest messages.
  static constexpr std::uint64_t max_bytes = 1 << 30;

  /// Returns how many messages the stream may contain after a frame is appended. If `max_length` is 0, this is the
  /// number of messages that fit into `max_bytes`, given the average size of the messages so far.
  unsigned long long limit_with(std::span<const std::byte> frame) {
    ++messages_;
    bytes_ += frame.size();
    return max_length_ > 0 ? max_length_ : std::max<std::uint64_t>(1, max_bytes * messages_ / bytes_);
  }

  Sent append(std::span<const std::byte> frame) {
    await_replies(max_pending_ - 1);
    const auto status = redisAppendCommand(connection_.raw(), "XADD %b MAXLEN ~ %llu * frame %b", key_.data(),
                                           key_.size(), limit_with(frame), frame.data(), frame.size());
    connection_.demand(status == REDIS_OK, "appending to a stream of redis-server");
    ++unconfirmed_;
    if (max_pending_ == 1)
      await_replies(0);
    else
      write();
    return Sent::accepted;
  }

  /// Writes the appended command to the socket.
  void write() {
    int is_written = 0;
    while (is_written == 0)
      connection_.demand(redisBufferWrite(connection_.raw(), &is_written) == REDIS_OK, "appending to a stream");
  }

  /// Waits until at most `limit` messages are unconfirmed.
  void await_replies(int limit) {
    for (; unconfirmed_ > limit; --unconfirmed_) connection_.next_reply("appending to a stream of");
  }

  std::string key_;
  int max_pending_;
  std::uint64_t max_length_, messages_ = 0, bytes_ = 0;
  int unconfirmed_ = 0;
  Draft draft_;
  Connection connection_;
};

/// Reads the messages that are appended after this reader has opened. It uses XREAD, or XREADGROUP as the only consumer
/// of its own group.
class StreamReader final : public Subscriber {
 public:
  StreamReader(const Setup& setup, const Link& link)
      : key_(link.name), spins_(link.wait == Wait::spin), connection_(setup) {
    const auto batch = setup.setting<int>("batch");
    batch_ = batch > 0 ? batch : std::numeric_limits<int>::max();
    if (setup.setting<std::string>("consumer") == "group") {
      acknowledges_ = setup.setting<bool>("acknowledge");
      create_group();
    } else {
      find_newest();
    }
  }

  std::size_t poll(Timeout timeout, Take take) override {
    if (next_ == count()) read(std::max<Timeout::rep>(1, timeout.count() / 1'000'000));
    if (next_ == count()) return 0;
    const auto& entry = *entries().element[next_++];  // its id, then a list of its fields and values
    const auto& frame = *entry.element[1]->element[1];
    const std::span whole(reinterpret_cast<const std::byte*>(frame.str), frame.len);
    take(Received::split(whole).with_native(&whole));
    if (acknowledges_) connection_.command("acknowledging at", "XACK %s %s %s", key(), group(), entry.element[0]->str);
    return 1;
  }

 private:
  /// Creates a group whose name is this connection's number at the broker. No other connection has this number.
  void create_group() {
    group_ = std::to_string(connection_.command("reading the connection's number at", "CLIENT ID")->integer);
    connection_.command("creating a group at", "XGROUP CREATE %s %s $ MKSTREAM", key(), group());
  }

  void find_newest() {
    const auto newest = connection_.command("reading a stream of", "XREVRANGE %s + - COUNT 1", key());
    if (newest->elements > 0) last_ = newest->element[0]->element[0]->str;
  }

  void read(std::int64_t block_ms) {
    next_ = 0;
    // Without BLOCK, the broker replies at once.
    const auto wait = spins_ ? std::string() : "BLOCK " + std::to_string(block_ms);
    const auto format = (group_.empty() ? "XREAD COUNT %d " + wait + " STREAMS %s %s"
                                        : std::string("XREADGROUP GROUP %s receiver COUNT %d ") + wait +
                                              (acknowledges_ ? " STREAMS %s >" : " NOACK STREAMS %s >"));
    reply_ = group_.empty() ? connection_.command("reading a stream of", format.c_str(), batch_, key(), last_.c_str())
                            : connection_.command("reading a stream of", format.c_str(), group(), batch_, key());
    if (count() > 0) last_ = entries().element[count() - 1]->element[0]->str;
  }

  /// Returns the entries of the only stream in the reply. A stream is a list of its name and its entries.
  const redisReply& entries() const { return *reply_->element[0]->element[1]; }
  std::size_t count() const { return reply_ && reply_->elements > 0 ? entries().elements : 0; }
  const char* key() const { return key_.c_str(); }
  const char* group() const { return group_.c_str(); }

  std::string key_, group_, last_ = "0-0";
  bool spins_;
  bool acknowledges_ = false;
  int batch_;
  Connection connection_;
  Reply reply_;
  std::size_t next_ = 0;
};

}  // namespace hopmeter
