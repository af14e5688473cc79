/// A transport whose link ends need only their link and a shared state.
#pragma once

#include <concepts>
#include <type_traits>

#include "hopmeter/bridge.hpp"

namespace hopmeter {

namespace detail {

/// The first type in `Ends` that derives from `Base`, or `Base` itself if there is none.
template <class Base, class... Ends>
struct EndOf : std::type_identity<Base> {};

template <class Base, class First, class... More>
struct EndOf<Base, First, More...>
    : std::conditional_t<std::derived_from<First, Base>, std::type_identity<First>, EndOf<Base, More...>> {};

}  // namespace detail

/// Creates each type in `Ends` from the shared state and a link. A callback receiver also gets its `OnFrame`.
template <class... Ends>
struct Makers {
  template <class Base>
  static Owned<Base> make(const char* kind, auto& shared, const Link& link, auto&&... more) {
    using End = typename detail::EndOf<Base, Ends...>::type;
    if constexpr (std::same_as<End, Base>)
      throw Error::unsupported(kind, link.name);
    else
      return std::make_unique<End>(shared, link, std::forward<decltype(more)>(more)...);
  }
};

/// Like `Makers`, but each of `Ends` is a template; the link's payload selects the template argument from `Types`.
template <class Types, template <class> class... Ends>
struct TypedMakers {
  template <class Base>
  static Owned<Base> make(const char* kind, auto& shared, const Link& link, auto&&... more) {
    return Types::choose(link, [&]<class Message>(std::type_identity<Message>) {
      return Makers<Ends<Message>...>::template make<Base>(kind, shared, link, std::forward<decltype(more)>(more)...);
    });
  }
};

/// Opens link ends with `Made`, which is `Makers` or `TypedMakers`. All link ends of a process use one `Shared`,
/// created from the setup. Override a method if its link end needs more than `Shared` and the link.
template <class Shared, class Made>
class MadeTransport : public Transport {
 public:
  explicit MadeTransport(const Setup& setup) : shared_(setup) {}

  Owned<Publisher> publisher(const Link& link) override { return open<Publisher>("publisher", link); }
  Owned<Subscriber> subscriber(const Link& link) override { return open<Subscriber>("subscriber", link); }
  Owned<Subscription> subscribe(const Link& link, OnFrame on_frame) override {
    return open<Subscription>("subscribe", link, std::move(on_frame));
  }
  Owned<Server> server(const Link& link) override { return open<Server>("server", link); }
  Owned<Client> client(const Link& link) override { return open<Client>("client", link); }

 protected:
  Shared shared_;

 private:
  template <class Base>
  Owned<Base> open(const char* kind, const Link& link, auto&&... more) {
    return Made::template make<Base>(kind, shared_, link, std::forward<decltype(more)>(more)...);
  }
};

/// A transport with raw carriage, whose messages are bytes.
template <class Shared, class... Ends>
class TransportOf : public MadeTransport<Shared, Makers<Ends...>> {
  using MadeTransport<Shared, Makers<Ends...>>::MadeTransport;
};

/// A transport with typed carriage, whose messages have the types in `Types` (see `MessageTypes` in choice.hpp).
template <class Shared, class Types, template <class> class... Ends>
class TypedTransportOf : public MadeTransport<Shared, TypedMakers<Types, Ends...>> {
  using MadeTransport<Shared, TypedMakers<Types, Ends...>>::MadeTransport;
};

}  // namespace hopmeter
