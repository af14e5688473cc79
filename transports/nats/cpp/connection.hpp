/// The connection to nats-server, its messages, and subscriptions with a callback.
#pragma once

#include <nats/nats.h>

#include <string>
#include <utility>

#include "hopmeter/completion.hpp"
#include "hopmeter/credentials.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/resource.hpp"

namespace hopmeter {

using Message = Resource<natsMsg, natsMsg_Destroy>;
using NatsSubscription = Resource<natsSubscription, natsSubscription_Destroy>;

/// Throws an error with the library's text if `status` is not NATS_OK.
inline void demand(natsStatus status, const std::string& doing, const std::string& remedy = {}) {
  if (status != NATS_OK) throw Error(doing + ": " + natsStatus_GetText(status), remedy);
}

/// The connection to the broker, which all link ends of the process share.
class Connection {
 public:
  explicit Connection(const Setup& setup) : setup_(setup) {
    natsOptions* raw = nullptr;
    demand(natsOptions_Create(&raw), "preparing a connection to nats-server");
    const Resource<natsOptions, natsOptions_Destroy> options(raw);
    demand(natsOptions_SetURL(raw, ("nats://" + setup.broker()).c_str()), "naming nats-server");
    // Send published messages immediately, instead of with the next batch.
    demand(natsOptions_SetSendAsap(raw, true), "requesting that messages are sent immediately");
    if (uses_tls(setup)) {
      demand(natsOptions_SetSecure(raw, true), "setting up TLS");
      demand(natsOptions_LoadCATrustedCertificates(raw, credential(setup, "ca.pem").c_str()), "trusting ca.pem");
      // The library compares only host names with the certificate, not addresses. Every certificate names localhost.
      demand(natsOptions_SetExpectedHostname(raw, "localhost"), "naming the broker's host");
    }
    natsConnection* connection = nullptr;
    demand(natsConnection_Connect(&connection, raw),
           "connecting to nats-server at " + BrokerAddress::parse(setup.broker()).text());
    connection_.reset(connection);
  }

  /// Publishes a frame, which the library copies into its own buffer. `reply_to` may be null.
  Sent publish(const char* subject, const char* reply_to, std::span<const std::byte> frame) const {
    const auto bytes = static_cast<int>(frame.size());
    const auto status = reply_to
                            ? natsConnection_PublishRequest(connection_.get(), subject, reply_to, frame.data(), bytes)
                            : natsConnection_Publish(connection_.get(), subject, frame.data(), bytes);
    demand(status, "publishing to nats-server", status == NATS_MAX_PAYLOAD ? "raise max_payload" : "");
    return Sent::accepted;
  }

  /// Subscribes to a subject with `function`, one of the library's functions.
  NatsSubscription subscribe(const auto& function, const std::string& subject, auto... more) const {
    natsSubscription* raw = nullptr;
    demand(function(&raw, connection_.get(), subject.c_str(), more...), "subscribing at nats-server");
    NatsSubscription subscription(raw);
    // As in hopmeter's other NATS adapters, only the number of messages limits the queue.
    demand(natsSubscription_SetPendingLimits(raw, 65536, -1), "raising a subscription's limits");
    return subscription;
  }

  const Setup& setup() const { return setup_; }
  natsConnection* raw() const { return connection_.get(); }

  /// Returns when the broker has processed all subscriptions.
  void flush() const { demand(natsConnection_Flush(connection_.get()), "telling nats-server of the subscription"); }

 private:
  Setup setup_;
  Resource<natsConnection, natsConnection_Destroy> connection_;
};

/// Converts a message to the instrument's type.
inline Received to_received(const Message& message) {
  const auto* bytes = reinterpret_cast<const std::byte*>(natsMsg_GetData(message.get()));
  return Received::split({bytes, static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))});
}

/// A subscription with a callback on a library thread. The destructor waits for the last callback.
template <class Call>
class Called final : public Subscription {
 public:
  /// `open` receives a function for the library's thread to call, with its argument, and returns the subscription.
  Called(const Connection& connection, const auto& open, Call call)
      : call_(std::move(call)), subscription_(open(take, this)) {
    const auto complete = [](void* self) { static_cast<Called*>(self)->completion_.set(); };
    demand(natsSubscription_SetOnCompleteCB(subscription_.get(), complete, this), "watching a subscription");
    connection.flush();
  }

  ~Called() override {
    natsSubscription_Unsubscribe(subscription_.get());
    completion_.wait();
  }

 private:
  static void take(natsConnection*, natsSubscription*, natsMsg* raw, void* self) {
    const Message message(raw);
    static_cast<Called*>(self)->call_(message);
  }

  Call call_;
  Completion completion_;
  NatsSubscription subscription_;
};

}  // namespace hopmeter
