/// The adapter for Redis, with hiredis: messages are published on channels and pass through a broker. ../README.md
/// describes the wire format.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "connection.hpp"
#include "hopmeter/draft.hpp"
#include "streams.hpp"

using namespace hopmeter;

namespace {

/// A publisher or a subscriber, with its own connection to the broker.
class End final : public Publisher, public Subscriber {
 public:
  End(const Setup& setup, const Link& link)
      : channel_(link.name), spins_(link.wait == Wait::spin), connection_(setup) {}

  Sent send(std::size_t payload_bytes, Fill fill) override { return publish(draft_.write(payload_bytes, fill)); }

  /// Sends the received bytes without a copy.
  Sent forward(const Received& received) override {
    return publish(received.require_native<std::span<const std::byte>>("Redis"));
  }

  /// Subscribes to the channel, and marks the connection as non-blocking, because hiredis treats a read timeout on a
  /// blocking connection as a failure. The socket itself blocks, unless this end spins.
  void subscribe() {
    connection_.command("subscribing at", "SUBSCRIBE %s", channel_.c_str());
    raw()->flags &= ~REDIS_BLOCK;
    if (spins_)
      connection_.demand(fcntl(raw()->fd, F_SETFL, fcntl(raw()->fd, F_GETFL) | O_NONBLOCK) == 0, "subscribing");
  }

  /// A message is an array of three elements: the word `message`, the channel, and the frame.
  std::size_t poll(Timeout timeout, Take take) override {
    if (!spins_) set_timeout(timeout);
    const auto reply = receive();
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 3) return 0;
    const auto& frame = *reply->element[2];
    const std::span whole(reinterpret_cast<const std::byte*>(frame.str), frame.len);
    take(Received::split(whole).with_native(&whole));
    return 1;
  }

 private:
  redisContext* raw() const { return connection_.raw(); }

  /// Publishes a frame and waits for the broker's answer, as hiredis does.
  Sent publish(std::span<const std::byte> frame) {
    connection_.command("publishing at", "PUBLISH %b %b", channel_.data(), channel_.size(), frame.data(), frame.size());
    return Sent::accepted;
  }

  /// Sets the read timeout. A timeout of zero would wait forever.
  void set_timeout(Timeout timeout) {
    if (timeout == timeout_) return;
    timeout_ = timeout;
    const auto us = std::max<Timeout::rep>(1, timeout.count() / 1000);
    const timeval limit{us / 1'000'000, us % 1'000'000};
    connection_.demand(setsockopt(raw()->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "setting a timeout");
  }

  /// Returns the next reply, or null if none arrived in time.
  Reply receive() {
    auto reply = parse();
    errno = 0;
    while (!reply && errno != EAGAIN) {
      connection_.demand(redisBufferRead(raw()) == REDIS_OK, "receiving from redis-server");
      if (errno != EAGAIN) reply = parse();
    }
    return reply;
  }

  /// Returns the next reply among the bytes that were already read, or null if none is complete.
  Reply parse() {
    void* reply = nullptr;
    connection_.demand(redisGetReplyFromReader(raw(), &reply) == REDIS_OK, "parsing a reply of redis-server");
    return Reply(static_cast<redisReply*>(reply));
  }

  std::string channel_;
  bool spins_;
  Draft draft_;
  Connection connection_;
  Timeout timeout_{-1};
};

class Redis final : public Transport {
 public:
  explicit Redis(const Setup& setup) : setup_(setup) {}

  static std::string version() { return version_text(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH); }

  Owned<Publisher> publisher(const Link& link) override {
    if (is_durable()) return std::make_unique<StreamWriter>(setup_, link);
    return std::make_unique<End>(setup_, link);
  }
  Owned<Subscriber> subscriber(const Link& link) override {
    if (is_durable()) return std::make_unique<StreamReader>(setup_, link);
    auto end = std::make_unique<End>(setup_, link);
    end->subscribe();
    return end;
  }
  Facts facts() override {
    const bool is_unix = setup_.setting<std::string>("endpoint") == "unix";
    const std::string stream = is_durable() ? "a stream of " : "";
    return {{"path", (is_unix ? "Unix socket through " : "TCP through ") + stream + "redis-server"}};
  }

 private:
  bool is_durable() const { return setup_.setting<bool>("durable"); }

  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Redis>(argc, argv); }
