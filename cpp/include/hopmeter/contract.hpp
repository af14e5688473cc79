/// The adapter contract: what a transport must provide for the instrument. An adapter moves frames; it knows no role,
/// no clock and no statistic. Every method may throw, preferably an `Error` with a remedy. Destructors, `address`,
/// `version`, `facts` and `defer` must not throw: if one of them throws, the process ends.
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

/// The kind of a payload: the small message without padding, any bytes, or pixels of three bytes each.
enum class PayloadKind {
  timing = HOPMETER_PAYLOAD_KIND_TIMING,
  bytes = HOPMETER_PAYLOAD_KIND_BYTES,
  image = HOPMETER_PAYLOAD_KIND_IMAGE
};

/// The setup that an adapter receives when it is opened. What differs from one link to another is in `Link`. A copy is
/// cheap and stays valid as long as the transport exists.
class Setup {
 public:
  explicit Setup(const HopmeterSetup* raw) noexcept : raw_(raw) {}

  /// The name of this run on this machine. Put this name into the name of everything that you create outside
  /// `directory`.
  std::string run() const { return detail::string(raw_->run); }
  /// A private folder of this trial for socket files, with a short path; the launcher removes it.
  std::string directory() const { return detail::string(raw_->directory); }
  /// The address of the transport's broker, in the manifest's format; empty if the transport has no broker.
  std::string broker() const { return detail::string(raw_->broker); }
  [[deprecated("it is broker() now")]] std::string daemon() const { return broker(); }
  /// The IPv4 address on which link ends listen: that of the loopback device unless nodes run on several machines. May
  /// be 0.0.0.0, for all devices.
  std::string bind() const { return detail::string(raw_->bind); }
  /// The IPv4 address at which nodes on other machines reach this one. Put it into the address of a link end; a
  /// transport that finds its peers by itself uses the network device with this address.
  std::string advertised() const { return detail::string(raw_->advertised); }
  /// The network device that a transport uses, in words, for its facts.
  std::string network_device() const {
    return advertised().starts_with("127.") ? "the loopback device" : "the device of " + advertised();
  }
  /// The size of the largest frame, header included, on any link of this process.
  std::size_t largest_frame_bytes() const noexcept { return raw_->largest_frame_bytes; }

  /// The value of a setting of the manifest, as `bool`, any integer, any floating-point type or `std::string`. Throws
  /// if the manifest does not have the setting or its value has another type.
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

/// One hop. Exactly one end binds the link (a publisher or a server); the others connect to the address of that end.
struct Link {
  /// Unique on this machine, of `[a-z0-9_]` only: usable as a topic, key, service or file name.
  std::string name;
  /// The address of the binding end, in the transport's format; empty while the link is being bound.
  std::string address;
  /// How many receivers connect before the first message.
  std::uint32_t receivers;
  /// What the messages of this link represent; an adapter with typed carriage chooses its message type by it.
  PayloadKind payload = PayloadKind::bytes;
  /// The size of an image in pixels; 0 if the payload is no image.
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  /// The size of the largest frame of this link, header included.
  std::size_t frame_bytes = header_bytes;
  /// How this end waits for messages, and a client for replies. At a publisher, how the receivers of the link wait; if
  /// some are called and others are polled, how the polled ones wait.
  Wait wait = Wait::block;
  /// The name of the transport's own type as which it carries the messages, such as `nav_msgs/msg/Odometry`; empty if
  /// there is none.
  std::string message_type;
  /// The folder of the code that `hopmeter build --message` generated for this type; empty if there is none.
  std::string message_code;
  /// The file with the encoded message, if the adapter encodes it itself; payloads are then the bytes of this file. If
  /// it is empty, payloads are messages of the type that are already encoded.
  std::string message_object;
};

/// How long a blocking poll may sleep.
using Timeout = std::chrono::nanoseconds;

/// The sending end of a pubsub link. Only one thread at a time uses a link end, but not always the same thread.
class Publisher {
 public:
  virtual ~Publisher() = default;

  /// The address at which receivers find this end. Empty by default, which means that the link's name is enough.
  virtual std::string address() const { return {}; }

  /// Sends one frame of `header_bytes + payload_bytes`, which `fill` writes into the transport's memory. Does not wait
  /// unless the manifest says `send = "blocking"`. May return `busy` before or after it called `fill`; the frame is
  /// then discarded, and the role offers the message again.
  virtual Sent send(std::size_t payload_bytes, Fill fill) = 0;

  /// Sends a payload from the caller's memory. Destroy `payload` when the transport no longer needs the bytes. By
  /// default, copies the payload (`parts = false` in the manifest).
  virtual Sent send_parts(std::span<const std::byte, header_bytes> header, Shared payload);

  /// Forwards a received frame, unaltered; it came from a link with the same payload. By default, copies the frame into
  /// a new frame (`forward = "copy"` in the manifest). An adapter whose transport can pass on a reference overrides
  /// this method and declares `forward = "move"`.
  virtual Sent forward(const Received& received);
};

/// A receiving end that is polled. Only one thread at a time uses a subscriber.
class Subscriber {
 public:
  virtual ~Subscriber() = default;

  /// Calls `take` with the frames that have arrived, at least one if there is any; returns the number of frames. With
  /// `spin`, looks only once. With `block`, sleeps in the transport until something arrives or about `timeout` has
  /// passed; may return early, or up to 100 ms late. The bytes are valid until `take` returns.
  virtual std::size_t poll(Timeout timeout, Take take) = 0;
};

/// A receiving end that is called. The destructor waits for a running call; no call follows after the destructor.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// The client of an rpc link. Only one thread at a time uses a client.
class Client {
 public:
  virtual ~Client() = default;

  /// Starts a call; the rules of `Publisher::send` apply.
  virtual Sent start(std::size_t payload_bytes, Fill fill) = 0;

  /// Starts a call whose request is a received request, unaltered.
  virtual Sent forward(const Received& received);

  /// Calls `take` with the replies that have arrived; the rules of `Subscriber::poll` apply.
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

  /// A replier that any thread can use later, if the manifest declares `reply = "deferred"`. Must not throw.
  virtual Owned<Replier> defer() noexcept;
};

template <class End>
struct Bridge;

namespace detail {
template <class Ours>
HopmeterReplier borrow(Ours& replier) noexcept;
}

/// Handles the requests of one poll; valid until `poll` returns. The handler may block and may call other servers.
class Handle {
 public:
  explicit Handle(HopmeterHandle raw) noexcept : raw_(raw) {}

  /// The handler may use `replier` only until it returns.
  template <std::derived_from<Replier> Ours>
  void operator()(const Received& received, Ours& replier) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw(), detail::borrow(replier));
  }

 private:
  HopmeterHandle raw_;
};

/// Like `OnFrame`, for requests. The handler may block, so the transport needs a separate thread or executor for each
/// served link.
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

  /// The address at which clients find this server; see `Publisher::address`.
  virtual std::string address() const { return {}; }

  /// Calls `handle` with the requests that have arrived; the rules of `Subscriber::poll` apply.
  virtual std::size_t poll(Timeout timeout, Handle handle) = 0;

  /// From now on, handles requests on the transport's own thread (`callback`). The server is destroyed after the
  /// subscription, and nothing else calls the server until then.
  virtual Owned<Subscription> serve(OnRequest on_request);
};

/// Facts that are known only after the last message, such as the path that the bytes really took: (`path`,
/// `shared memory`).
using Facts = std::vector<std::pair<std::string, std::string>>;

/// One transport in one process, shared by all endpoints of the node. The endpoints' threads call the methods. Each of
/// these threads is pinned to its endpoint's core, and threads that a transport starts inherit that pinning.
///
/// An adapter derives from this class and takes a `const Setup&` in its constructor. It also has a
/// `static std::string version()`, which returns the version that the library itself reports, or otherwise the version
/// with which the adapter was built. An adapter with several libraries lists all of them in `version()`. In a
/// `std::string library() const` it returns the library with which it was opened.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Binds the sending end of a pubsub link. May wait.
  virtual Owned<Publisher> publisher(const Link& link);
  /// Connects a receiving end that is polled (`spin`, `block`). May wait.
  virtual Owned<Subscriber> subscriber(const Link& link);
  /// Connects a receiving end that is called (`callback`). May wait; frames may arrive before it returns.
  virtual Owned<Subscription> subscribe(const Link& link, OnFrame on_frame);
  /// Binds the server side of an rpc link. May wait.
  virtual Owned<Server> server(const Link& link);
  /// Connects the client side of an rpc link. May wait.
  virtual Owned<Client> client(const Link& link);
  /// The instrument calls this once, after the last message.
  virtual Facts facts() { return {}; }
};

}  // namespace hopmeter
