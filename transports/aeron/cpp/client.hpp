/// The process's connection to the media driver, and the streams of the process's links.
#pragma once

#include <Aeron.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "hopmeter/hopmeter.hpp"

/// Waits until the media driver has answered. If the driver rejects a request or does not answer, `find` throws.
inline auto await_driver(auto&& find) {
  auto found = find();
  for (; !found; found = find()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return found;
}

/// The state that all link ends of a process share: one Aeron client, whose own thread talks to the media driver.
class AeronClient {
 public:
  explicit AeronClient(const hopmeter::Setup& setup)
      : is_udp_(setup.setting<std::string>("channel") == "udp"),
        claims_(setup.setting<bool>("claim")),
        idle_(setup.setting<std::string>("idle")),
        path_(is_udp_ ? "UDP on " + setup.network_device() : "shared memory of Aeron"),
        term_bytes_(setup.setting<std::size_t>("term_length")),
        mtu_(setup.setting<std::size_t>("mtu")) {
    const auto broker = setup.broker();
    const auto space = broker.find(' ');
    channel_ = is_udp_ ? "aeron:udp?endpoint=" + broker.substr(space + 1) : "aeron:ipc";
    aeron::Context context;
    context.aeronDir(broker.substr(0, space)).errorHandler([](const std::exception& error) {
      std::fprintf(stderr, "Aeron's client: %s\n", error.what());
    });
    client_ = aeron::Aeron::connect(context);
  }

  /// Whether messages that fit into one fragment are written directly into the log buffer.
  bool claims() const { return claims_; }
  /// The idle strategy of blocking receivers.
  const std::string& idle() const { return idle_; }
  /// How the bytes travel, for the fact `path`.
  const std::string& path() const { return path_; }

  /// Opens the sending end of a new stream. The stream's id is unique at this media driver.
  std::shared_ptr<aeron::ExclusivePublication> publish(const hopmeter::Link& link) {
    const auto stream = static_cast<std::int32_t>(client_->nextCorrelationId() & 0x7fff'ffff);
    const auto id = client_->addExclusivePublication(channel_for(link.frame_bytes), stream);
    auto publication = await_driver([&] { return client_->findExclusivePublication(id); });
    const auto largest = static_cast<std::size_t>(publication->maxMessageLength());
    if (link.frame_bytes > largest)
      throw hopmeter::Error("a frame of " + std::to_string(link.frame_bytes) +
                                " bytes exceeds Aeron's largest message, " + std::to_string(largest) +
                                " bytes, an eighth of a term and at most 16 MiB",
                            "use a larger term_length, or 0");
    return publication;
  }

  /// Opens a receiving end of the stream with this id.
  std::shared_ptr<aeron::Subscription> subscribe(const std::string& stream) {
    const auto id = client_->addSubscription(channel_, std::stoi(stream));
    return await_driver([&] { return client_->findSubscription(id); });
  }

 private:
  static constexpr std::size_t default_ipc_term = 64 << 20, default_udp_term = 16 << 20;
  /// A term is this many times as long as Aeron's largest message.
  static constexpr std::size_t messages_per_term = 8;

  /// Returns the channel of a sender, with the lengths of terms and fragments. The media driver gives receivers both
  /// lengths.
  std::string channel_for(std::size_t frame_bytes) const {
    auto channel = channel_ + (is_udp_ ? "|" : "?") + "mtu=" + std::to_string(mtu_);
    const auto needed = std::bit_ceil(frame_bytes) * messages_per_term;
    const auto term = term_bytes_ ? term_bytes_ : needed > (is_udp_ ? default_udp_term : default_ipc_term) ? needed : 0;
    return term ? channel + "|term-length=" + std::to_string(term) : channel;
  }

  bool is_udp_, claims_;
  std::string idle_, path_, channel_;
  std::size_t term_bytes_, mtu_;
  std::shared_ptr<aeron::Aeron> client_;
};
