/// The adapter contract: what a transport offers to the instrument. An adapter moves frames; it knows no role, no clock
/// and no statistic. Every method may throw, preferably an `Error` with a remedy. The exceptions are destructors,
/// `address`, `version`, `facts` and `defer`: if one of them throws, the process ends.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hopmeter/error.hpp"
#include "hopmeter/frame.hpp"

namespace hopmeter {

/// How a receiver waits.
enum class Wait { spin = HOPMETER_WAIT_SPIN, block = HOPMETER_WAIT_BLOCK, callback = HOPMETER_WAIT_CALLBACK };

/// The meaning of a payload: the small message without padding, any bytes, or pixels of three bytes each.
enum class PayloadKind {
  timing = HOPMETER_PAYLOAD_KIND_TIMING,
  bytes = HOPMETER_PAYLOAD_KIND_BYTES,
  image = HOPMETER_PAYLOAD_KIND_IMAGE
};

/// What an adapter gets when it is opened. A cheap view, valid as long as the transport lives.
class Setup {
 public:
  explicit Setup(const HopmeterSetup* raw) noexcept : raw_(raw) {}

  /// Names this run on this machine. Put it into the name of everything that you create outside `directory`.
  std::string run() const { return detail::string(raw_->run); }
  /// A private folder of this trial with a short path, for socket files; the launcher removes it.
  std::string directory() const { return detail::string(raw_->directory); }
  /// How the receivers of this process wait; if only some are polled, how those wait.
  Wait wait() const noexcept { return static_cast<Wait>(raw_->wait); }
  /// The address of the transport's daemon (a broker, a master), in the manifest's format; empty without one.
  std::string daemon() const { return detail::string(raw_->daemon); }
  /// The meaning of the payloads, by which typed carriage chooses its message.
  PayloadKind payload() const noexcept { return static_cast<PayloadKind>(raw_->payload); }
  /// The size of an image in pixels; 0 if the payload is none.
  std::uint32_t width() const noexcept { return raw_->width; }
  std::uint32_t height() const noexcept { return raw_->height; }
  /// The size of the largest frame, header included, on any link.
  std::size_t frame_bytes() const noexcept { return raw_->frame_bytes; }

  /// A setting of the manifest by its name, as `bool`, any integer, any floating-point type or `std::string`. Throws if
  /// the manifest does not have it or its value is of another type.
  template <class Value>
  Value setting(const char* name) const {
    if constexpr (std::same_as<Value, bool>)
      return read<bool>(hopmeter_setting_bool, name);
    else if constexpr (std::integral<Value>)
      return integer<Value>(name);
    else if constexpr (std::floating_point<Value>)
      return static_cast<Value>(read<double>(hopmeter_setting_double, name));
    else
      return detail::string(read<HopmeterText>(hopmeter_setting_text, name));
  }

 private:
  template <class Raw, class Get>
  Raw read(Get get, const char* name) const {
    Raw value{};
    detail::demand([&](const HopmeterError* error) { return get(raw_->settings, name, &value, error); });
    return value;
  }

  template <class Value>
  Value integer(const char* name) const {
    const auto value = read<std::int64_t>(hopmeter_setting_integer, name);
    if (!std::in_range<Value>(value)) throw Error("the setting `" + std::string(name) + "` is out of range");
    return static_cast<Value>(value);
  }

  const HopmeterSetup* raw_;
};

/// One hop. Exactly one end binds it (a publisher or a server); the others connect to the address of that end.
struct Link {
  /// Unique on this machine, of `[a-z0-9_]` only: usable as a topic, key, service or file name.
  std::string name;
  /// The address of the binding end, in the transport's own format; empty while it binds.
  std::string address;
  /// How many receivers connect before the first message.
  std::uint32_t receivers;
};

/// How long a blocking poll may sleep.
using Timeout = std::chrono::nanoseconds;

/// The sending end of a pubsub link. Used from one thread at a time, which may change between calls.
class Publisher {
 public:
  virtual ~Publisher() = default;

  /// Where receivers find this end. Empty by default: the link's name is enough.
  virtual std::string address() const { return {}; }

  /// Sends one frame of `header_bytes + payload_bytes`, which `fill` writes into the transport's memory. Does not wait
  /// unless the manifest says `send = "blocking"`. May return `busy` before or after it called `fill`; the frame is
  /// then discarded, and the role offers the message again.
  virtual Sent send(std::size_t payload_bytes, Fill fill) = 0;

  /// Sends a payload from the caller's memory. Destroy `payload` when the transport is done with the bytes. This
  /// default copies it (`parts = false` in the manifest).
  virtual Sent send_parts(std::span<const std::byte, header_bytes> header, Shared payload);

  /// Forwards a received frame, unaltered. This default copies it into a new frame (`forward = "copy"` in the
  /// manifest). An adapter that can pass on a reference overrides it and declares `forward = "move"`.
  virtual Sent forward(const Received& received);
};

/// A receiving end that is polled. Used from one thread at a time.
class Subscriber {
 public:
  virtual ~Subscriber() = default;

  /// Hands over what has arrived, at least one frame if any is there, and returns how many. With `spin` it looks once.
  /// With `block` it sleeps in the transport until something arrives or about `timeout` has passed; it may return
  /// early, or up to 100 ms late. The bytes are valid until `take` returns.
  virtual std::size_t poll(Timeout timeout, Take take) = 0;
};

/// A receiving end that is called. Its destructor returns when no call is running, and none comes after.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// The client of an rpc link. Used from one thread at a time.
class Client {
 public:
  virtual ~Client() = default;

  /// Starts a call; the rules of `Publisher::send` apply.
  virtual Sent start(std::size_t payload_bytes, Fill fill) = 0;

  /// Starts a call with a received request, unaltered.
  virtual Sent forward(const Received& received);

  /// Hands over the replies that have arrived; the rules of `Subscriber::poll` apply.
  virtual std::size_t poll(Timeout timeout, Take take) = 0;
};

template <class End>
class Owned;

/// Answers one request.
class Replier {
 public:
  virtual ~Replier() = default;

  /// Sends the reply; the rules of `Publisher::send` apply.
  virtual Sent reply(std::size_t payload_bytes, Fill fill) = 0;

  /// Replies with a received frame, unaltered; the rules of `Publisher::forward` apply.
  virtual Sent forward(const Received& received);

  /// A replier for later use on any thread, if the manifest declares `reply = "deferred"`. Must not throw.
  virtual Owned<Replier> defer() noexcept;
};

template <class End>
struct Bridge;

namespace detail {
template <class Ours>
HopmeterReplier borrow(Ours& replier) noexcept;
}

/// Handles the requests of one poll; valid until `poll` returns. It may block and may call other servers.
class Handle {
 public:
  explicit Handle(HopmeterHandle raw) noexcept : raw_(raw) {}

  /// `replier` is borrowed until this returns.
  template <std::derived_from<Replier> Ours>
  void operator()(const Received& received, Ours& replier) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw(), detail::borrow(replier));
  }

 private:
  HopmeterHandle raw_;
};

/// Like `OnFrame`, for requests. It may block, so the transport needs a thread or executor for each served link.
class OnRequest : public Owner<HopmeterOnRequest> {
 public:
  using Owner::Owner;
  template <std::derived_from<Replier> Ours>
  void operator()(const Received& received, Ours& replier) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw(), detail::borrow(replier));
  }
};

/// The server of an rpc link. Used from one thread at a time.
class Server {
 public:
  virtual ~Server() = default;

  /// Where clients find this end; see `Publisher::address`.
  virtual std::string address() const { return {}; }

  /// Hands over the requests that have arrived; the rules of `Subscriber::poll` apply.
  virtual std::size_t poll(Timeout timeout, Handle handle) = 0;

  /// From now on handles requests on the transport's own thread (`callback`). The server outlives the subscription and
  /// is not used until the subscription is destroyed.
  virtual Owned<Subscription> serve(OnRequest on_request);
};

/// What is known only after the last message, such as the path that the bytes really took: (`path`, `shared memory`).
using Facts = std::vector<std::pair<std::string, std::string>>;

/// One transport in one process, shared by all endpoints of the node. They call its methods from their threads, each
/// pinned to the endpoint's core, so threads that a transport starts inherit that pinning.
///
/// An adapter derives from it, takes a `const Setup&` in its constructor, and has a `static std::string version()` with
/// the library's version as the library itself reports it, or else as it was when the adapter was built. An adapter
/// with several libraries names all of them there, and in a `std::string library() const` the one that it was opened
/// with.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Binds the sending end of a pubsub link. May wait.
  virtual Owned<Publisher> publisher(const Link& link);
  /// Connects a receiving end that is polled (`spin`, `block`). May wait.
  virtual Owned<Subscriber> subscriber(const Link& link);
  /// Connects a receiving end that is called (`callback`). May wait; frames may arrive before it returns.
  virtual Owned<Subscription> subscribe(const Link& link, OnFrame on_frame);
  /// Binds the answering end of an rpc link. May wait.
  virtual Owned<Server> server(const Link& link);
  /// Connects the asking end of an rpc link. May wait.
  virtual Owned<Client> client(const Link& link);
  /// Called once, after the last message.
  virtual Facts facts() { return {}; }
};

}  // namespace hopmeter
