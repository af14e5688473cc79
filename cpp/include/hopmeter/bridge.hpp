/// Builds the instrument's function tables from adapter classes. Each concrete class has its own table, so one indirect
/// call reaches a `final` method without a further virtual call.
#pragma once

#include "hopmeter/contract.hpp"

namespace hopmeter {
namespace detail {

template <class Ours>
Ours& as(void* object) noexcept {
  return *static_cast<Ours*>(object);
}

template <class Ours>
void close(void* object) {
  delete static_cast<Ours*>(object);
}

/// Runs an adapter's sending code and converts its result to the ABI's status.
template <class Act>
std::int32_t run_send(const HopmeterError* error, Act&& act) noexcept {
  return guard(error, HOPMETER_FAILED, [&] { return static_cast<std::int32_t>(act()); });
}

/// Runs an adapter's polling code and returns the number of frames.
template <class Act>
std::int64_t run_poll(const HopmeterError* error, Act&& act) noexcept {
  return guard(error, std::int64_t{HOPMETER_FAILED}, [&] { return static_cast<std::int64_t>(act()); });
}

/// Runs an adapter's code that opens a link end.
template <class End, class Open>
std::int32_t run_open(const HopmeterError* error, typename Bridge<End>::Raw* out, Open&& open) noexcept {
  return guard(error, HOPMETER_FAILED, [&] {
    *out = open().release();
    return HOPMETER_ACCEPTED;
  });
}

inline Link link(const HopmeterLink* from) {
  return {.name = string(from->name),
          .address = string(from->address),
          .receivers = from->receivers,
          .payload = static_cast<PayloadKind>(from->payload),
          .width = from->width,
          .height = from->height,
          .frame_bytes = from->frame_bytes,
          .wait = static_cast<Wait>(from->wait),
          .message_type = string(from->message_type),
          .message_code = string(from->message_code),
          .message_object = string(from->message_object)};
}

inline void put(const HopmeterTextOut* out, std::string_view value) { out->put(out->context, text(value)); }

// Functions that several function tables share.

template <class Ours>
void address(void* object, const HopmeterTextOut* out) noexcept {
  put(out, as<Ours>(object).address());
}

template <class Ours>
std::int32_t forward(void* object, const HopmeterReceived* received, const HopmeterError* error) noexcept {
  return run_send(error, [&] { return as<Ours>(object).forward(Received(*received)); });
}

template <class Ours>
std::int64_t poll(void* object, std::int64_t timeout_ns, HopmeterTake take, const HopmeterError* error) noexcept {
  return run_poll(error, [&] { return as<Ours>(object).poll(Timeout(timeout_ns), Take(take)); });
}

}  // namespace detail

template <>
struct Bridge<Publisher> {
  using Raw = HopmeterPublisher;
  template <class Ours>
  static constexpr HopmeterPublisherCalls calls{
      .close = detail::close<Ours>,
      .address = detail::address<Ours>,
      .send =
          [](void* object, std::size_t payload_bytes, HopmeterFill fill, const HopmeterError* error) {
            return detail::run_send(error, [&] { return detail::as<Ours>(object).send(payload_bytes, Fill(fill)); });
          },
      .send_parts =
          [](void* object, const std::uint8_t* header, HopmeterShared payload, const HopmeterError* error) {
            const auto* bytes = reinterpret_cast<const std::byte*>(header);
            Shared shared(payload);
            return detail::run_send(error, [&] {
              return detail::as<Ours>(object).send_parts(std::span<const std::byte, header_bytes>(bytes, header_bytes),
                                                         std::move(shared));
            });
          },
      .forward = detail::forward<Ours>,
  };
};

template <>
struct Bridge<Subscriber> {
  using Raw = HopmeterSubscriber;
  template <class Ours>
  static constexpr HopmeterSubscriberCalls calls{.close = detail::close<Ours>, .poll = detail::poll<Ours>};
};

template <>
struct Bridge<Subscription> {
  using Raw = HopmeterSubscription;
  template <class Ours>
  static constexpr HopmeterSubscriptionCalls calls{.close = detail::close<Ours>};
};

template <>
struct Bridge<Client> {
  using Raw = HopmeterClient;
  template <class Ours>
  static constexpr HopmeterClientCalls calls{
      .close = detail::close<Ours>,
      .start =
          [](void* object, std::size_t payload_bytes, HopmeterFill fill, const HopmeterError* error) {
            return detail::run_send(error, [&] { return detail::as<Ours>(object).start(payload_bytes, Fill(fill)); });
          },
      .forward = detail::forward<Ours>,
      .poll = detail::poll<Ours>,
  };
};

template <>
struct Bridge<Replier> {
  using Raw = HopmeterReplier;
  template <class Ours>
  static constexpr HopmeterReplierCalls calls{
      .close = detail::close<Ours>,
      .reply =
          [](void* object, std::size_t payload_bytes, HopmeterFill fill, const HopmeterError* error) {
            return detail::run_send(error, [&] { return detail::as<Ours>(object).reply(payload_bytes, Fill(fill)); });
          },
      .forward = detail::forward<Ours>,
      .defer = [](void* object) { return detail::as<Ours>(object).defer().release(); },
  };
};

template <>
struct Bridge<Server> {
  using Raw = HopmeterServer;
  template <class Ours>
  static constexpr HopmeterServerCalls calls{
      .close = detail::close<Ours>,
      .address = detail::address<Ours>,
      .poll =
          [](void* object, std::int64_t timeout_ns, HopmeterHandle handle, const HopmeterError* error) {
            return detail::run_poll(error,
                                    [&] { return detail::as<Ours>(object).poll(Timeout(timeout_ns), Handle(handle)); });
          },
      .serve =
          [](void* object, HopmeterOnRequest on_request, HopmeterSubscription* out, const HopmeterError* error) {
            OnRequest owned(on_request);
            return detail::run_open<Subscription>(error, out,
                                                  [&] { return detail::as<Ours>(object).serve(std::move(owned)); });
          },
  };
};

template <>
struct Bridge<Transport> {
  using Raw = HopmeterTransport;

  /// Opens a link end whose constructor takes only its link.
  template <class Ours, class End, auto method>
  static std::int32_t open(void* object, const HopmeterLink* link, typename Bridge<End>::Raw* out,
                           const HopmeterError* error) noexcept {
    return detail::run_open<End>(error, out, [&] { return (detail::as<Ours>(object).*method)(detail::link(link)); });
  }

  template <class Ours>
  static constexpr HopmeterTransportCalls calls{
      .close = detail::close<Ours>,
      .version =
          [](void* object, const HopmeterTextOut* out) noexcept {
            if constexpr (requires(const Ours& ours) { ours.library(); })
              detail::put(out, detail::as<Ours>(object).library());
            else
              detail::put(out, Ours::version());
          },
      .publisher = open<Ours, Publisher, &Transport::publisher>,
      .subscriber = open<Ours, Subscriber, &Transport::subscriber>,
      .subscribe =
          [](void* object, const HopmeterLink* link, HopmeterOnFrame on_frame, HopmeterSubscription* out,
             const HopmeterError* error) {
            OnFrame owned(on_frame);
            return detail::run_open<Subscription>(
                error, out, [&] { return detail::as<Ours>(object).subscribe(detail::link(link), std::move(owned)); });
          },
      .server = open<Ours, Server, &Transport::server>,
      .client = open<Ours, Client, &Transport::client>,
      .facts =
          [](void* object, const HopmeterFactsOut* out) noexcept {
            for (const auto& [name, value] : detail::as<Ours>(object).facts())
              out->put(out->context, detail::text(name), detail::text(value));
          },
  };
};

/// A link end that the instrument will own. A `unique_ptr` to the concrete class converts to this type, so return
/// `std::make_unique<MyPublisher>(…)`.
template <class End>
class Owned {
 public:
  using Raw = typename Bridge<End>::Raw;

  Owned() noexcept : raw_{} {}
  template <std::derived_from<End> Ours>
  Owned(std::unique_ptr<Ours> end) noexcept : raw_{end.release(), &Bridge<End>::template calls<Ours>} {}
  Owned(Owned&& from) noexcept : raw_(from.release()) {}
  Owned& operator=(Owned&& from) noexcept {
    std::swap(raw_, from.raw_);
    return *this;
  }
  ~Owned() {
    if (raw_.object) raw_.calls->close(raw_.object);
  }

  Raw release() noexcept { return std::exchange(raw_, Raw{}); }

 private:
  Raw raw_;
};

namespace detail {

template <class Ours>
HopmeterReplier borrow(Ours& replier) noexcept {
  return {&replier, &Bridge<Replier>::calls<Ours>};
}

/// Sends a copy of a received frame through `send`. The instrument makes the copy, because the instrument also counts
/// copies.
inline Sent send_copy(const Received& received, auto&& send) {
  if (received.header().size() != header_bytes) throw Error("a frame without a whole header cannot be forwarded");
  auto raw = received.raw();
  const auto fill = [](void* raw, HopmeterFrameMut to) { hopmeter_copy(static_cast<HopmeterReceived*>(raw), to); };
  return send(received.payload().size(), Fill({&raw, fill, nullptr}));
}

}  // namespace detail

inline Sent Publisher::send_parts(std::span<const std::byte, header_bytes> header, Shared payload) {
  return detail::send_copy(Received(header, payload.bytes()), [&](auto size, Fill fill) { return send(size, fill); });
}

inline Sent Publisher::forward(const Received& received) {
  return detail::send_copy(received, [&](auto size, Fill fill) { return send(size, fill); });
}

inline Sent Client::forward(const Received& received) {
  return detail::send_copy(received, [&](auto size, Fill fill) { return start(size, fill); });
}

inline Sent Replier::forward(const Received& received) {
  return detail::send_copy(received, [&](auto size, Fill fill) { return reply(size, fill); });
}

inline Owned<Replier> Replier::defer() noexcept { return {}; }

inline Owned<Subscription> Server::serve(OnRequest) {
  throw Error("this transport's servers do not support callbacks", "use wait = \"block\" or \"spin\"");
}

inline Owned<Publisher> Transport::publisher(const Link& link) { throw Error::unsupported("publisher", link.name); }
inline Owned<Subscriber> Transport::subscriber(const Link& link) { throw Error::unsupported("subscriber", link.name); }
inline Owned<Subscription> Transport::subscribe(const Link& link, OnFrame) {
  throw Error::unsupported("subscribe", link.name);
}
inline Owned<Server> Transport::server(const Link& link) { throw Error::unsupported("server", link.name); }
inline Owned<Client> Transport::client(const Link& link) { throw Error::unsupported("client", link.name); }

}  // namespace hopmeter
