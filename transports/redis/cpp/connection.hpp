/// One connection to redis-server, as hiredis provides it: only one thread at a time may use it.
#pragma once

#include <hiredis/hiredis.h>

#include <string>

#include "hopmeter/credentials.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"

namespace hopmeter {

using Reply = Resource<redisReply, freeReplyObject>;

class Connection {
 public:
  explicit Connection(const Setup& setup) {
    if (uses_tls(setup))
      throw Error("hiredis 0.14 does not support TLS", "set security = \"off\", or measure TLS in Rust or Python");
    const auto addresses = setup.broker();
    const auto space = addresses.find(' ');
    const auto broker = BrokerAddress::parse(addresses.substr(0, space));
    if (setup.setting<std::string>("endpoint") == "unix") {
      context_.reset(redisConnectUnix(addresses.substr(space + 1).c_str()));
    } else {
      context_.reset(redisConnect(broker.place.host.c_str(), broker.place.port));
    }
    if (!context_) throw Error("connecting to redis-server: out of memory");
    demand(context_->err == 0, "connecting to redis-server at " + broker.text());
    if (!broker.user.empty()) command("logging in at", "AUTH %s %s", broker.user.c_str(), broker.password.c_str());
  }

  redisContext* raw() const { return context_.get(); }

  /// Sends a command, and waits for the broker's reply. Throws if the reply is an error.
  Reply command(const char* doing, const char* format, auto... arguments) const {
    Reply reply(static_cast<redisReply*>(redisCommand(raw(), format, arguments...)));
    return check(doing, std::move(reply));
  }

  /// Waits for the reply to the oldest command that has no reply yet. Throws if the reply is an error.
  Reply next_reply(const char* doing) const {
    void* reply = nullptr;
    redisGetReply(raw(), &reply);
    return check(doing, Reply(static_cast<redisReply*>(reply)));
  }

  void demand(bool good, const std::string& doing) const {
    if (!good) throw Error(doing + ": " + context_->errstr);
  }

 private:
  Reply check(const char* doing, Reply reply) const {
    const char* error = !reply ? context_->errstr : reply->type == REDIS_REPLY_ERROR ? reply->str : nullptr;
    if (error) throw Error(std::string(doing) + " redis-server: " + error);
    return reply;
  }

  Resource<redisContext, redisFree> context_;
};

}  // namespace hopmeter
