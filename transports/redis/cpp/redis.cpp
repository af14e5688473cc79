/// Redis by hiredis: channels through a broker. ../README.md says what is on the wire.
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "hopmeter/draft.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"

using namespace hopmeter;

namespace {

using Reply = Resource<redisReply, freeReplyObject>;

/// A connection to the broker.
class Connection {
 public:
  explicit Connection(const Setup& setup) {
    const auto daemon = setup.daemon();
    const auto space = daemon.find(' ');
    if (setup.setting<std::string>("endpoint") == "unix") {
      context_.reset(redisConnectUnix(daemon.substr(space + 1).c_str()));
    } else {
      const auto [host, port] = HostPort::parse(daemon.substr(0, space));
      context_.reset(redisConnect(host.c_str(), port));
    }
    if (!context_) throw Error("connecting to redis-server: out of memory");
    demand(context_->err == 0, "connecting to redis-server at " + daemon);
  }

  /// Publishes a frame and waits for the broker's answer, as hiredis does.
  Sent publish(const std::string& channel, std::span<const std::byte> frame) {
    const Reply reply(static_cast<redisReply*>(
        redisCommand(context_.get(), "PUBLISH %b %b", channel.data(), channel.size(), frame.data(), frame.size())));
    demand(reply != nullptr, "publishing at redis-server");
    if (reply->type == REDIS_REPLY_ERROR) throw Error(std::string("publishing at redis-server: ") + reply->str);
    return Sent::accepted;
  }

  /// Nothing is requested after this. A read may then time out, which hiredis takes for a failure only if the
  /// connection blocks, so the connection is marked as non-blocking. The socket itself blocks, except if this end
  /// spins.
  void subscribe(const std::string& channel, bool spins) {
    const Reply reply(static_cast<redisReply*>(redisCommand(context_.get(), "SUBSCRIBE %s", channel.c_str())));
    demand(reply != nullptr, "subscribing at redis-server");
    context_->flags &= ~REDIS_BLOCK;
    if (spins) demand(fcntl(context_->fd, F_SETFL, fcntl(context_->fd, F_GETFL) | O_NONBLOCK) == 0, "subscribing");
  }

  /// Sets how long a read waits; a timeout of zero would never end.
  void set_timeout(Timeout timeout) {
    if (timeout == timeout_) return;
    timeout_ = timeout;
    const auto us = std::max<Timeout::rep>(1, timeout.count() / 1000);
    const timeval limit{us / 1'000'000, us % 1'000'000};
    demand(setsockopt(context_->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "setting a timeout");
  }

  /// The next reply, or null if none came in time.
  Reply receive() {
    auto reply = parse();
    errno = 0;
    while (!reply && errno != EAGAIN) {
      demand(redisBufferRead(context_.get()) == REDIS_OK, "receiving from redis-server");
      if (errno != EAGAIN) reply = parse();
    }
    return reply;
  }

 private:
  void demand(bool good, const std::string& doing) const {
    if (!good) throw Error(doing + ": " + context_->errstr);
  }

  /// The next reply of those that have been read; null if none is complete.
  Reply parse() {
    void* reply = nullptr;
    demand(redisGetReplyFromReader(context_.get(), &reply) == REDIS_OK, "parsing a reply of redis-server");
    return Reply(static_cast<redisReply*>(reply));
  }

  Resource<redisContext, redisFree> context_;
  Timeout timeout_{-1};
};

class Pub final : public Publisher {
 public:
  Pub(const Setup& setup, const Link& link) : connection_(setup), channel_(link.name) {}
  Sent send(std::size_t payload_bytes, Fill fill) override {
    return connection_.publish(channel_, draft_.write(payload_bytes, fill));
  }
  /// Sends the bytes from where they were received.
  Sent forward(const Received& received) override {
    return connection_.publish(channel_, received.require_native<std::span<const std::byte>>("Redis"));
  }

 private:
  Connection connection_;
  std::string channel_;
  Draft draft_;
};

class Sub final : public Subscriber {
 public:
  Sub(const Setup& setup, const Link& link) : connection_(setup), spins_(setup.wait() == Wait::spin) {
    connection_.subscribe(link.name, spins_);
  }

  /// A message is an array: the word `message`, the channel, the frame.
  std::size_t poll(Timeout timeout, Take take) override {
    if (!spins_) connection_.set_timeout(timeout);
    const auto reply = connection_.receive();
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 3) return 0;
    const auto& frame = *reply->element[2];
    const std::span whole(reinterpret_cast<const std::byte*>(frame.str), frame.len);
    take(Received::split(whole).with_native(&whole));
    return 1;
  }

 private:
  Connection connection_;
  bool spins_;
};

class Redis final : public Transport {
 public:
  explicit Redis(const Setup& setup) : setup_(setup) {}

  static std::string version() { return version_text(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH); }

  Owned<Publisher> publisher(const Link& link) override { return std::make_unique<Pub>(setup_, link); }
  Owned<Subscriber> subscriber(const Link& link) override { return std::make_unique<Sub>(setup_, link); }
  Facts facts() override {
    const bool is_unix = setup_.setting<std::string>("endpoint") == "unix";
    return {{"path", is_unix ? "Unix socket through redis-server" : "TCP through redis-server"}};
  }

 private:
  Setup setup_;
};

}  // namespace

int main(int argc, char** argv) { return run<Redis>(argc, argv); }
