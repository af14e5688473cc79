/// The adapter for TCP, with Nagle's algorithm switched off.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "../../_streams/cpp/streams.hpp"
#include "hopmeter/host_port.hpp"

namespace {

using streams::Endpoint;
using streams::Error;
using streams::Socket;

class Tcp final : public streams::Family {
 public:
  explicit Tcp(const hopmeter::Setup& setup)
      : setup_(setup),
        port_(setup.setting<std::uint16_t>("port")),
        send_buffer_(setup.setting<int>("send_buffer")),
        receive_buffer_(setup.setting<int>("receive_buffer")) {}

  std::string path() const override { return "TCP on " + setup_.network_device(); }

  Endpoint listen(const hopmeter::Link&) const override {
    auto listener = open_socket();
    // Allows rebinding a fixed port although connections of an earlier trial still exist.
    listener.set(SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
    sockaddr_in place = to_socket_address(setup_.bind(), port_);
    auto* address = reinterpret_cast<sockaddr*>(&place);
    socklen_t size = sizeof place;
    if (::bind(*listener, address, size) != 0 || ::listen(*listener, streams::listen_backlog) != 0) {
      throw Error::system("binding port " + std::to_string(port_) + " of " + setup_.bind(),
                          "use port = 0, which selects a free port");
    }
    if (::getsockname(*listener, address, &size) != 0) throw Error::system("asking which port was bound");
    return {std::move(listener), setup_.advertised() + ":" + std::to_string(ntohs(place.sin_port))};
  }

  Socket connect(const std::string& address) const override {
    const auto [host, port] = hopmeter::HostPort::parse(address);
    const sockaddr_in place = to_socket_address(host, port);
    auto connection = open_socket();
    if (::connect(*connection, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
      throw Error::system("connecting to " + address);
    }
    return connection;
  }

 private:
  /// Sets the buffer sizes before connecting, because TCP then fixes its window scale. Accepted connections inherit all
  /// options from the listening socket.
  Socket open_socket() const {
    auto socket = Socket::create(AF_INET);
    socket.set(IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
    socket.set_send_buffer(send_buffer_);
    socket.set_receive_buffer(receive_buffer_);
    return socket;
  }

  static sockaddr_in to_socket_address(const std::string& host, std::uint16_t port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &place.sin_addr) != 1) throw Error(host + " is not an IPv4 address");
    return place;
  }

  hopmeter::Setup setup_;
  std::uint16_t port_;
  int send_buffer_, receive_buffer_;
};

}  // namespace

int main(int argc, char** argv) { return hopmeter::run<streams::StreamTransport<Tcp>>(argc, argv); }
