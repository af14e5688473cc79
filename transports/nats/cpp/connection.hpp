/// The C library's handles, each given back by its own function, and its errors.
#pragma once

#include <nats/nats.h>

#include <memory>
#include <string>

#include "hopmeter/hopmeter.hpp"

template <auto destroy>
struct Destroys {
  void operator()(auto* handle) const noexcept { destroy(handle); }
};

using Connection = std::unique_ptr<natsConnection, Destroys<natsConnection_Destroy>>;
using Options = std::unique_ptr<natsOptions, Destroys<natsOptions_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroys<natsSubscription_Destroy>>;
using Message = std::unique_ptr<natsMsg, Destroys<natsMsg_Destroy>>;

/// Throws what the library says where it refuses.
inline void demand(natsStatus status, const std::string& doing, const std::string& remedy = {}) {
  if (status != NATS_OK) throw hopmeter::Error(doing + ": " + natsStatus_GetText(status), remedy);
}

/// Connects to the broker; what is published leaves at once and not with the next batch.
inline Connection connected(const std::string& address) {
  natsOptions* raw = nullptr;
  demand(natsOptions_Create(&raw), "preparing a connection to nats-server");
  const Options options(raw);
  demand(natsOptions_SetURL(raw, ("nats://" + address).c_str()), "naming nats-server");
  demand(natsOptions_SetSendAsap(raw, true), "asking to send at once");
  natsConnection* connection = nullptr;
  demand(natsConnection_Connect(&connection, raw), "connecting to nats-server at " + address);
  return Connection(connection);
}

/// A message as the instrument sees it.
inline hopmeter::Received received(const Message& message) {
  const auto* bytes = reinterpret_cast<const std::byte*>(natsMsg_GetData(message.get()));
  return hopmeter::Received::split({bytes, static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))});
}

/// Frames are written here before the library copies them into its own buffer.
class Draft {
 public:
  hopmeter::Sent publish(natsConnection* connection, const char* subject, const char* reply, std::size_t payload_bytes,
                         hopmeter::Fill fill) {
    buffer_.resize(hopmeter::header_bytes + payload_bytes);
    fill(std::span(buffer_));
    const auto bytes = static_cast<int>(buffer_.size());
    const auto status = reply ? natsConnection_PublishRequest(connection, subject, reply, buffer_.data(), bytes)
                              : natsConnection_Publish(connection, subject, buffer_.data(), bytes);
    demand(status, "publishing to nats-server", status == NATS_MAX_PAYLOAD ? "raise max_payload" : "");
    return hopmeter::Sent::accepted;
  }

 private:
  std::vector<std::byte> buffer_;
};
