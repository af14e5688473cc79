/// Connections: each has a two-party RPC system.
#pragma once

#include <arpa/inet.h>
#include <capnp/rpc-twoparty.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "event_loop.hpp"
#include "hopmeter.capnp.h"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/host_port.hpp"

inline std::span<const std::byte> bytes_of(capnp::Data::Reader data) {
  return std::as_bytes(std::span(data.begin(), data.end()));
}
inline capnp::Data::Reader data_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
inline std::vector<std::byte> copy_of(capnp::Data::Reader data) {
  const auto bytes = bytes_of(data);
  return {bytes.begin(), bytes.end()};
}

inline bool is_unix(const hopmeter::Setup& setup) { return setup.setting<std::string>("endpoint") == "unix"; }

/// Returns the address of a Unix socket, or of a TCP socket at `host:port`.
inline kj::Own<kj::NetworkAddress> parse(EventLoop& loop, const hopmeter::Setup& setup, const std::string& address) {
  auto& network = loop.io().provider->getNetwork();
  if (is_unix(setup)) {
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    if (address.size() >= sizeof place.sun_path) throw hopmeter::Error("the path of a socket is too long: " + address);
    std::memcpy(place.sun_path, address.data(), address.size());
    return network.getSockaddr(&place, static_cast<kj::uint>(offsetof(sockaddr_un, sun_path) + address.size() + 1));
  }
  const auto [host, port] = hopmeter::HostPort::parse(address);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &place.sin_addr) != 1) throw hopmeter::Error(host + " is not an IPv4 address");
  return network.getSockaddr(&place, sizeof place);
}

/// One connection. Reading a message larger than the traversal limit is an error, which ends the connection before the
/// message's memory is allocated.
class Connection {
 public:
  using Side = capnp::rpc::twoparty::Side;

  /// Creates the connecting side, which offers no capability.
  Connection(const hopmeter::Setup& setup, kj::Own<kj::AsyncIoStream> stream)
      : stream_(kj::mv(stream)),
        network_(*stream_, Side::CLIENT, options(setup)),
        system_(capnp::makeRpcClient(network_)) {}

  /// Creates the listening side, which offers a capability.
  Connection(const hopmeter::Setup& setup, kj::Own<kj::AsyncIoStream> stream, capnp::Capability::Client offer)
      : stream_(kj::mv(stream)),
        network_(*stream_, Side::SERVER, options(setup)),
        system_(capnp::makeRpcServer(network_, kj::mv(offer))) {}

  /// Returns the capability that the peer offers.
  capnp::Capability::Client bootstrap() {
    capnp::MallocMessageBuilder message(4);
    auto peer = message.initRoot<capnp::rpc::twoparty::VatId>();
    peer.setSide(Side::SERVER);
    return system_.bootstrap(peer);
  }

  kj::Promise<void> on_disconnect() { return network_.onDisconnect(); }

 private:
  static capnp::ReaderOptions options(const hopmeter::Setup& setup) {
    constexpr std::size_t margin_bytes = 4096;
    capnp::ReaderOptions options;
    options.traversalLimitInWords = (setup.largest_frame_bytes() + margin_bytes) / sizeof(capnp::word);
    return options;
  }

  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system_;
};

/// Offers a capability to every peer that connects.
class Listener final : kj::TaskSet::ErrorHandler {
 public:
  Listener(EventLoop& loop, const hopmeter::Setup& setup, const hopmeter::Link& link, capnp::Capability::Client offer)
      : setup_(setup), timer_(loop.io().provider->getTimer()), offer_(kj::mv(offer)), tasks_(*this) {
    address_ = is_unix(setup) ? setup.directory() + "/" + link.name + ".capnp" : setup.bind() + ":0";
    receiver_ = parse(loop, setup, address_)->listen();
    if (!is_unix(setup)) address_ = setup.advertised() + ":" + std::to_string(receiver_->getPort());
    tasks_.add(accept_all());
  }
  ~Listener() {
    std::error_code ignored;  // the launcher removes the trial's folder
    if (is_unix(setup_)) std::filesystem::remove(address_, ignored);
  }

  const std::string& address() const noexcept { return address_; }

 private:
  kj::Promise<void> accept_all() {
    return kj::evalNow([this] { return receiver_->accept(); })
        .then([this](kj::Own<kj::AsyncIoStream>&& stream) {
          auto connection = kj::heap<Connection>(setup_, kj::mv(stream), offer_);
          auto ended = connection->on_disconnect();
          tasks_.add(ended.attach(kj::mv(connection)));
        })
        // The process may have too many open files.
        .catch_([this](kj::Exception&&) { return timer_.afterDelay(pause); })
        .then([this] { return accept_all(); });
  }
  void taskFailed(kj::Exception&&) override {}  // a peer has disconnected

  /// How long the listener waits after a failed attempt to accept a connection.
  static constexpr kj::Duration pause = 10 * kj::MILLISECONDS;

  hopmeter::Setup setup_;
  kj::Timer& timer_;
  capnp::Capability::Client offer_;
  kj::Own<kj::ConnectionReceiver> receiver_;
  std::string address_;
  kj::TaskSet tasks_;
};

/// The connection of a link end to its peer.
class Remote {
 public:
  Remote(EventLoop& loop, const hopmeter::Setup& setup, const hopmeter::Link& link)
      : setup_(setup), address_(parse(loop, setup, link.address)) {}

  /// Connects, and then calls `use` with the capability that the peer offers.
  template <class Use>
  kj::Promise<void> connect(Use use) {
    return address_->connect().then([this, use = kj::mv(use)](kj::Own<kj::AsyncIoStream>&& stream) mutable {
      connection_ = kj::heap<Connection>(setup_, kj::mv(stream));
      use(connection_->bootstrap());
    });
  }

 private:
  hopmeter::Setup setup_;
  kj::Own<kj::NetworkAddress> address_;
  kj::Own<Connection> connection_;
};
