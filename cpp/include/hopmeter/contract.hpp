/// The adapter contract: what a transport must provide for the instrument. An adapter only moves frames; the instrument
/// provides the roles, clocks and statistics. Every method may throw, preferably an `Error` with a remedy. Destructors,
/// `address`, `version`, `facts` and `defer` must not throw, because an exception from one of these functions ends the
/// process.
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

/// The kind of a payload: the small message without padding, arbitrary bytes, or pixels of three bytes each.
enum class PayloadKind {
  timing = HOPMETER_PAYLOAD_KIND_TIMING,
  bytes = HOPMETER_PAYLOAD_KIND_BYTES,
  image = HOPMETER_PAYLOAD_KIND_IMAGE
};

/// The setup that an adapter receives when its transport is opened. Values that differ between links are in `Link`. A
/// copy of the setup is cheap and stays valid as long as the transport exists.
class Setup {
 public:
  explicit Setup(const HopmeterSetup* raw) noexcept : raw_(raw) {}

  /// The run id, which is unique on this machine. The name of everything that you create outside `directory` must
  /// contain the run id.
  std::string run() const { return detail::string(raw_->run); }
  /// A private folder for this trial's socket files, with a short path; the launcher removes the folder.
  std::string directory() const { return detail::string(raw_->directory); }
  /// The address of the transport's broker, in the manifest's format (empty if the transport has no broker).
  std::string broker() const { return detail::string(raw_->broker); }
  [[deprecated("renamed to broker()")]] std::string daemon() const { return broker(); }
  /// The IPv4 address on which link ends listen: the loopback address, unless nodes run on several machines. The
  /// address 0.0.0.0 means all network interfaces.
  std::string bind() const { return detail::string(raw_->bind); }
  /// The IPv4 address at which nodes on other machines reach this node. The address of a link end must contain this
  /// IPv4 address. A transport that discovers its peers uses the network device with this address.
  std::string advertised() const { return detail::string(raw_->advertised); }
  /// Describes the network device that a transport uses, as a text for the transport's facts.
  std::string network_device() const {
    return advertised().starts_with("127.") ? "the loopback device" : "the device of " + advertised();
  }
  /// The size of the largest frame on any link of this process, including the header.
  std::size_t largest_frame_bytes() const noexcept { return raw_->largest_frame_bytes; }

  /// Returns the value of a setting of the manifest, as `bool`, any integer, any floating-point type or `std::string`.
  /// Throws if the manifest lacks the setting or its value has a different type.
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

/// A link, which is one hop of a message. Exactly one link end, a publisher or server, binds the link; all other link
/// ends connect to the binding end's address.
struct Link {
  /// A name that is unique on this machine and consists of `[a-z0-9_]` only: usable as a topic, key, service or file
  /// name.
  std::string name;
  /// The address of the binding end, in the transport's format. Empty for the binding end itself.
  std::string address;
  /// The number of receivers that connect before the first message.
  std::uint32_t receivers;
  /// The kind of this link's payload, from which an adapter with typed carriage chooses its message type.
  PayloadKind payload = PayloadKind::bytes;
  /// The size of an image in pixels; 0 if the payload is not an image.
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  /// The size of this link's largest frame, including the header.
  std::size_t frame_bytes = header_bytes;
  /// How this link end waits for messages, or for replies if it is a client. For a publisher: how the link's receivers
  /// wait, or how the polled receivers wait if the others use callbacks.
  Wait wait = Wait::block;
  /// The transport's own message type for this link, such as `nav_msgs/msg/Odometry` (empty if the link has none).
  std::string message_type;
  /// The folder with the code that `hopmeter build --message` generated for this type (empty if there is none).
  std::string message_code;
  /// The file with the encoded message if the adapter encodes the message itself; payloads are then the bytes of this
  /// file. Empty if payloads are encoded messages of the type.
  std::string message_object;
};

/// The longest time that a blocking poll may sleep.
using Timeout = std::chrono::nanoseconds;

/// The sending end of a pubsub link. Only one thread at a time uses a link end, but the thread may change.
class Publisher {
 public:
  virtual ~Publisher() = default;

  /// The address at which receivers find this end. Empty, as by default, if receivers need only the link's name.
  virtual std::string address() const { return {}; }

  /// Sends one frame of `header_bytes + payload_bytes`, which `fill` writes into the transport's memory. Must not wait
  /// unless the manifest says `send = "blocking"`. May return `busy` before or after calling `fill`. After `busy`, the
  /// frame is discarded and the role offers the message again.
  virtual Sent send(std::size_t payload_bytes, Fill fill) = 0;

  /// Sends a payload from the caller's memory. Destroy `payload` when the transport no longer needs the bytes. The
  /// default implementation copies the payload (`parts = false` in the manifest).
  virtual Sent send_parts(std::span<const std::byte, header_bytes> header, Shared payload);

  /// Forwards a received frame unaltered. The frame came from a link with the same payload. The default implementation
  /// copies the received frame into a new frame (`forward = "copy"` in the manifest). An adapter whose transport can
  /// pass on a reference overrides this method and declares `forward = "move"`.
  virtual Sent forward(const Received& received);
};

/// A receiving end that the instrument polls. Only one thread at a time uses a subscriber.
class Subscriber {
 public:
  virtual ~Subscriber() = default;

  /// Calls `take` for each frame that has arrived (at least one, if any have arrived). Returns the number of frames.
  /// With `spin`, checks once without sleeping. With `block`, sleeps in the transport until a frame arrives or about
  /// `timeout` has passed; may return early, or up to 100 ms late. The bytes are valid until `take` returns.
  virtual std::size_t poll(Timeout timeout, Take take) = 0;
};

/// A receiving end with a callback. The destructor waits for a running callback, and no callback starts afterwards.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// The client of an rpc link. Only one thread at a time uses a client.
class Client {
 public:
  virtual ~Client() = default;

  /// Sends a request; the rules of `Publisher::send` apply.
  virtual Sent start(std::size_t payload_bytes, Fill fill) = 0;

  /// Forwards a received request, unaltered, as a new call.
  virtual Sent forward(const Received& received);

  /// Calls `take` for each reply that has arrived; the rules of `Subscriber::poll` apply.
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

  /// Sends a received frame, unaltered, as the reply; the rules of `Publisher::forward` apply.
  virtual Sent forward(const Received& received);

  /// Returns a replier that any thread can use after the handler has returned, if the manifest declares `reply =
  /// "deferred"`. Must not throw.
  virtual Owned<Replier> defer() noexcept;
};

template <class End>
struct Bridge;

namespace detail {
template <class Ours>
HopmeterReplier borrow(Ours& replier) noexcept;
}

/// Handles the requests of one poll. The object is valid until `poll` returns; the handler may block and call other
/// servers.
class Handle {
 public:
  explicit Handle(HopmeterHandle raw) noexcept : raw_(raw) {}

  /// The handler must not use `replier` after the handler has returned.
  template <std::derived_from<Replier> Ours>
  void operator()(const Received& received, Ours& replier) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw(), detail::borrow(replier));
  }

 private:
  HopmeterHandle raw_;
};

/// Like `OnFrame`, but for requests. The handler may block, so the transport needs a separate thread or executor for
/// each served link.
class OnRequest : public Owner<HopmeterOnRequest> {
 public:
  using Owner::Owner;
  template <std::derived_from<Replier> Ours>
  void operator()(const Received& received, Ours& replier) const {
    const Received stamped = received.stamp_arrival();
    raw_.call(raw_.context, &stamped.raw(), detail::borrow(replier));
  }
};

/// The server of an rpc link. Only one thread at a time uses a server.
class Server {
 public:
  virtual ~Server() = default;

  /// The address at which clients find this server; see `Publisher::address`.
  virtual std::string address() const { return {}; }

  /// Calls `handle` for each request that has arrived; the rules of `Subscriber::poll` apply.
  virtual std::size_t poll(Timeout timeout, Handle handle) = 0;

  /// Starts handling requests on the transport's own thread (`callback`). The instrument destroys the subscription
  /// before the server, and makes no other call to the server until then.
  virtual Owned<Subscription> serve(OnRequest on_request);
};

/// Facts that are known only after the last message. For example, (`path`, `shared memory`) says how the bytes
/// travelled.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// One transport in one process, shared by all endpoints of the node, whose threads call the methods. Each endpoint
/// thread is pinned to its endpoint's core; threads that a transport starts inherit the pinning.
///
/// An adapter derives from this class and takes a `const Setup&` in its constructor. The class also has a `static
/// std::string version()`, which returns the version that the library reports. If the library reports no version,
/// return the version that the adapter was built with. An adapter with several libraries lists all of them in
/// `version()`; the adapter's `std::string library() const` then returns the library in use.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Binds the sending end of a pubsub link. The call may block.
  virtual Owned<Publisher> publisher(const Link& link);
  /// Connects a receiving end that the instrument polls (`spin`, `block`). The call may block.
  virtual Owned<Subscriber> subscriber(const Link& link);
  /// Connects a receiving end that calls `on_frame` (`callback`). The call may block. Frames may arrive before the
  /// method returns.
  virtual Owned<Subscription> subscribe(const Link& link, OnFrame on_frame);
  /// Binds the server side of an rpc link. The call may block.
  virtual Owned<Server> server(const Link& link);
  /// Connects the client side of an rpc link. The call may block.
  virtual Owned<Client> client(const Link& link);
  /// Returns the facts of this trial. The instrument calls this method once, after the last message.
  virtual Facts facts() { return {}; }
};

}  // namespace hopmeter
