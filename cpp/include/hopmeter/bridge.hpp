/// From classes to the instrument's tables of functions. One table per concrete class, so that a call from the
/// instrument reaches a `final` method directly: one indirect call, no virtual one behind it.
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

template <class Act>
std::int32_t sent(const HopmeterError* error, Act&& act) noexcept {
  return guarded(error, HOPMETER_FAILED, [&] { return static_cast<std::int32_t>(act()); });
}

template <class Act>
std::int64_t count(const HopmeterError* error, Act&& act) noexcept {
  return guarded(error, std::int64_t{HOPMETER_FAILED}, [&] { return static_cast<std::int64_t>(act()); });
}

template <class End, class Make>
std::int32_t opened(const HopmeterError* error, typename Bridge<End>::Raw* out, Make&& make) noexcept {
  return guarded(error, HOPMETER_FAILED, [&] {
    *out = make().release();
    return HOPMETER_ACCEPTED;
  });
}

inline Link link(const HopmeterLink* from) { return {string(from->name), string(from->address), from->receivers}; }

inline void put(const HopmeterTextOut* out, std::string_view value) { out->put(out->context, text(value)); }

}  // namespace detail

template <>
struct Bridge<Publisher> {
  using Raw = HopmeterPublisher;
  template <class Ours>
  static constexpr HopmeterPublisherCalls calls{
      .close = detail::close<Ours>,
      .address = [](void* object,
                    const HopmeterTextOut* out) noexcept { detail::put(out, detail::as<Ours>(object).address()); },
      .send =
          [](void* object, std::size_t payload_bytes, HopmeterFill fill, const HopmeterError* error) {
            return detail::sent(error, [&] { return detail::as<Ours>(object).send(payload_bytes, Fill(fill)); });
          },
      .send_parts =
          [](void* object, const std::uint8_t* header, HopmeterShared payload, const HopmeterError* error) {
            const auto* bytes = reinterpret_cast<const std::byte*>(header);
            Shared shared(payload);
            return detail::sent(error, [&] {
              return detail::as<Ours>(object).send_parts(std::span<const std::byte, header_bytes>(bytes, header_bytes),
                                                         std::move(shared));
            });
          },
      .forward =
          [](void* object, const HopmeterReceived* received, const HopmeterError* error) {
            return detail::sent(error, [&] { return detail::as<Ours>(object).forward(Received(*received)); });
          },
  };
};

template <>
struct Bridge<Subscriber> {
  using Raw = HopmeterSubscriber;
  template <class Ours>
  static constexpr HopmeterSubscriberCalls calls{
      .close = detail::close<Ours>,
      .poll =
          [](void* object, std::int64_t timeout_ns, HopmeterTake take, const HopmeterError* error) {
            return detail::count(error, [&] { return detail::as<Ours>(object).poll(Timeout(timeout_ns), Take(take)); });
          },
  };
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
            return detail::sent(error, [&] { return detail::as<Ours>(object).start(payload_bytes, Fill(fill)); });
          },
      .forward =
          [](void* object, const HopmeterReceived* received, const HopmeterError* error) {
            return detail::sent(error, [&] { return detail::as<Ours>(object).forward(Received(*received)); });
          },
      .poll =
          [](void* object, std::int64_t timeout_ns, HopmeterTake take, const HopmeterError* error) {
            return detail::count(error, [&] { return detail::as<Ours>(object).poll(Timeout(timeout_ns), Take(take)); });
          },
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
            return detail::sent(error, [&] { return detail::as<Ours>(object).reply(payload_bytes, Fill(fill)); });
          },
      .forward =
          [](void* object, const HopmeterReceived* received, const HopmeterError* error) {
            return detail::sent(error, [&] { return detail::as<Ours>(object).forward(Received(*received)); });
          },
      .defer = [](void* object) { return detail::as<Ours>(object).defer().release(); },
  };
};

template <>
struct Bridge<Server> {
  using Raw = HopmeterServer;
  template <class Ours>
  static constexpr HopmeterServerCalls calls{
      .close = detail::close<Ours>,
      .address = [](void* object,
                    const HopmeterTextOut* out) noexcept { detail::put(out, detail::as<Ours>(object).address()); },
      .poll =
          [](void* object, std::int64_t timeout_ns, HopmeterHandle handle, const HopmeterError* error) {
            return detail::count(error,
                                 [&] { return detail::as<Ours>(object).poll(Timeout(timeout_ns), Handle(handle)); });
          },
      .serve =
          [](void* object, HopmeterOnRequest on_request, HopmeterSubscription* out, const HopmeterError* error) {
            OnRequest owned(on_request);
            return detail::opened<Subscription>(error, out,
                                                [&] { return detail::as<Ours>(object).serve(std::move(owned)); });
          },
  };
};

template <>
struct Bridge<Transport> {
  using Raw = HopmeterTransport;
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
      .publisher =
          [](void* object, const HopmeterLink* link, HopmeterPublisher* out, const HopmeterError* error) {
            return detail::opened<Publisher>(error, out,
                                             [&] { return detail::as<Ours>(object).publisher(detail::link(link)); });
          },
      .subscriber =
          [](void* object, const HopmeterLink* link, HopmeterSubscriber* out, const HopmeterError* error) {
            return detail::opened<Subscriber>(error, out,
                                              [&] { return detail::as<Ours>(object).subscriber(detail::link(link)); });
          },
      .subscribe =
          [](void* object, const HopmeterLink* link, HopmeterOnFrame on_frame, HopmeterSubscription* out,
             const HopmeterError* error) {
            OnFrame owned(on_frame);
            return detail::opened<Subscription>(
                error, out, [&] { return detail::as<Ours>(object).subscribe(detail::link(link), std::move(owned)); });
          },
      .server =
          [](void* object, const HopmeterLink* link, HopmeterServer* out, const HopmeterError* error) {
            return detail::opened<Server>(error, out,
                                          [&] { return detail::as<Ours>(object).server(detail::link(link)); });
          },
      .client =
          [](void* object, const HopmeterLink* link, HopmeterClient* out, const HopmeterError* error) {
            return detail::opened<Client>(error, out,
                                          [&] { return detail::as<Ours>(object).client(detail::link(link)); });
          },
      .facts =
          [](void* object, const HopmeterFactsOut* out) noexcept {
            for (const auto& [name, value] : detail::as<Ours>(object).facts())
              out->put(out->context, detail::text(name), detail::text(value));
          },
  };
};

/// An end on its way to the instrument, which owns it from then on. Made from a `unique_ptr` to the concrete class, so
/// return `std::make_unique<MyPublisher>(…)`.
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

/// Sends a copy through `send`; the instrument copies, because it counts.
inline Sent copy_on(const Received& received, auto&& send) {
  if (received.header().size() != header_bytes) throw Error("a frame without a whole header cannot be sent on");
  auto raw = received.raw();
  const auto fill = [](void* raw, HopmeterFrameMut to) { hopmeter_copy(static_cast<HopmeterReceived*>(raw), to); };
  return send(received.payload().size(), Fill({&raw, fill, nullptr}));
}

}  // namespace detail

inline Sent Publisher::send_parts(std::span<const std::byte, header_bytes> header, Shared payload) {
  return detail::copy_on(Received(header, payload.bytes()), [&](auto size, Fill fill) { return send(size, fill); });
}

inline Sent Publisher::forward(const Received& received) {
  return detail::copy_on(received, [&](auto size, Fill fill) { return send(size, fill); });
}

inline Sent Client::forward(const Received& received) {
  return detail::copy_on(received, [&](auto size, Fill fill) { return start(size, fill); });
}

inline Sent Replier::forward(const Received& received) {
  return detail::copy_on(received, [&](auto size, Fill fill) { return reply(size, fill); });
}

inline Owned<Replier> Replier::defer() noexcept { return {}; }

inline Owned<Subscription> Server::serve(OnRequest) {
  throw Error("this transport's servers are polled, not called", "use wait = \"block\" or \"spin\"");
}

inline Owned<Publisher> Transport::publisher(const Link& link) { throw Error::unsupported("publisher", link.name); }
inline Owned<Subscriber> Transport::subscriber(const Link& link) { throw Error::unsupported("subscriber", link.name); }
inline Owned<Subscription> Transport::subscribe(const Link& link, OnFrame) {
  throw Error::unsupported("subscribe", link.name);
}
inline Owned<Server> Transport::server(const Link& link) { throw Error::unsupported("server", link.name); }
inline Owned<Client> Transport::client(const Link& link) { throw Error::unsupported("client", link.name); }

}  // namespace hopmeter
