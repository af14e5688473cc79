/// The adapter for UDP: one datagram is one frame. ../README.md describes the wire format.
#include "datagrams.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;
using udp::Address, udp::FrameBuffer, udp::Inbox, udp::send_datagram, udp::Socket;

namespace {

using Clock = std::chrono::steady_clock;
/// How often a publisher checks for additional receivers after the expected ones have joined, and how often a receiver
/// resends its token until a frame arrives.
constexpr auto look = 10ms, repeat = 50ms;

/// Addresses, sockets and their options, shared by all link ends.
class Places {
 public:
  explicit Places(const Setup& setup)
      : setup(setup),
        multicast(setup.setting<bool>("multicast")),
        port_(setup.setting<std::uint16_t>("port")),
        send_buffer_(setup.setting<int>("send_buffer")),
        receive_buffer_(setup.setting<int>("receive_buffer")) {}

  /// Opens the socket of a publisher or server. Returns the socket and its port.
  std::pair<Socket, std::uint16_t> bind_socket() const {
    auto socket = open();
    if (multicast) {
      socket.set(IPPROTO_IP, IP_MULTICAST_IF, device(), "IP_MULTICAST_IF");
      socket.set(SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
    }
    auto place = udp::to_socket_address(setup.bind(), port_);
    bind_to(socket, place);
    socklen_t size = sizeof place;
    if (::getsockname(*socket, reinterpret_cast<sockaddr*>(&place), &size) != 0) {
      throw Error::system("asking which port was bound");
    }
    return {std::move(socket), ntohs(place.sin_port)};
  }

  /// Returns the address of a publisher with this port.
  std::string publisher_address(std::uint16_t port) const {
    if (!multicast) return setup.advertised() + ":" + std::to_string(port) + "/" + setup.run();
    const auto byte = [run = setup.run()](std::size_t at) { return std::stoul(run.substr(at, 2), nullptr, 16); };
    return "239.255." + std::to_string(byte(0)) + "." + std::to_string(byte(2)) + ":" + std::to_string(port);
  }

  /// Opens the socket of a receiver or client, which accepts only datagrams from the publisher's address, or to the
  /// publisher's multicast group.
  Socket connect_socket(const Address& address) const {
    auto socket = open();
    if (address.is_group()) {
      socket.set(SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
      bind_to(socket, address.place);
      socket.set(IPPROTO_IP, IP_ADD_MEMBERSHIP, ip_mreq{address.place.sin_addr, device()}, "IP_ADD_MEMBERSHIP");
    } else if (::connect(*socket, reinterpret_cast<const sockaddr*>(&address.place), sizeof address.place) != 0) {
      throw Error::system("connecting a UDP socket");
    }
    return socket;
  }

  Setup setup;
  bool multicast;
  udp::Drops drops;

 private:
  Socket open() const {
    auto socket = Socket::create(AF_INET, SOCK_DGRAM);
    socket.set_send_buffer(send_buffer_);
    socket.set_receive_buffer(receive_buffer_);
    return socket;
  }

  in_addr device() const { return udp::to_socket_address(setup.advertised(), 0).sin_addr; }

  static void bind_to(const Socket& socket, const sockaddr_in& place) {
    if (::bind(*socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return;
    throw Error::system("binding port " + std::to_string(ntohs(place.sin_port)),
                        "use port = 0, which selects a free port");
  }

  std::uint16_t port_;
  int send_buffer_, receive_buffer_;
};

/// Sends each frame once to each receiver, or once to a multicast group.
class UdpPublisher final : public Publisher {
 public:
  UdpPublisher(Places& places, const Link& link) : UdpPublisher(places, link, places.bind_socket()) {}

  std::string address() const override { return address_; }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    if (lacks_receivers()) admit();
    return send_to_all(draft_.write(payload_bytes, fill));
  }

  /// Sends the received bytes without a copy.
  Sent forward(const Received& received) override {
    if (lacks_receivers()) admit();
    return send_to_all({received.header(), received.payload()});
  }

 private:
  UdpPublisher(Places& places, const Link& link, std::pair<Socket, std::uint16_t> bound)
      : socket_(std::move(bound.first)),
        address_(places.publisher_address(bound.second)),
        expected_(link.receivers),
        draft_(link) {
    const auto [place, token] = Address::parse(address_);
    token_ = token;
    if (is_group()) receivers_.push_back(place);
  }

  bool is_group() const { return token_.empty(); }
  bool lacks_receivers() const { return !is_group() && receivers_.size() < expected_; }

  /// Returns busy if the socket's buffer is full at the first receiver; later receivers miss the frame in that case.
  /// Checks for additional receivers after the send, so that the check delays no frame.
  Sent send_to_all(std::array<udp::Bytes, 2> frame) {
    auto sent = Sent::accepted;
    for (const auto& receiver : receivers_) {
      const auto answer = send_datagram(socket_, frame, &receiver);
      if (&receiver == &receivers_.front()) sent = answer;
      if (sent == Sent::busy) break;
    }
    if (!is_group() && Clock::now() - looked_ > look) admit();
    return sent;
  }

  /// Adds the receivers that have sent the token.
  void admit() {
    std::array<char, 64> token;
    sockaddr_in sender;
    socklen_t size;
    for (ssize_t bytes; size = sizeof sender, (bytes = ::recvfrom(*socket_, token.data(), token.size(), MSG_DONTWAIT,
                                                                  reinterpret_cast<sockaddr*>(&sender), &size)) >= 0;) {
      const bool knows = token_ == std::string_view(token.data(), static_cast<std::size_t>(bytes));
      const bool is_new =
          std::ranges::none_of(receivers_, [&](const sockaddr_in& known) { return udp::operator==(known, sender); });
      if (knows && is_new) receivers_.push_back(sender);
    }
    looked_ = Clock::now();
  }

  Socket socket_;
  std::string address_, token_;
  std::vector<sockaddr_in> receivers_;
  std::size_t expected_;
  Clock::time_point looked_;
  FrameBuffer draft_;
};

class UdpSubscriber final : public Subscriber {
 public:
  UdpSubscriber(Places& places, const Link& link) : UdpSubscriber(places, link, Address::parse(link.address)) {}

  std::size_t poll(Timeout timeout, Take take) override {
    if (!token_.empty() && Clock::now() - asked_ > repeat) join();
    const auto frame = inbox_.receive(timeout);
    if (!frame) return 0;
    take(Received::split(*frame));
    token_.clear();  // the publisher has added this receiver
    return 1;
  }

 private:
  UdpSubscriber(Places& places, const Link& link, const Address& address)
      : inbox_(places.connect_socket(address), link, places.drops), token_(address.token) {
    if (!token_.empty()) join();
  }

  void join() {
    asked_ = Clock::now();
    send_datagram(inbox_.socket(), {std::as_bytes(std::span(token_)), udp::Bytes()}, nullptr);
  }

  Inbox inbox_;
  /// The token, which is sent to the publisher until a frame arrives. Empty if the publisher sends to a group.
  std::string token_;
  Clock::time_point asked_;
};

/// Sends datagrams to one peer.
class Line final : public Replier {
 public:
  Line(const Socket& socket, FrameBuffer& draft, const sockaddr_in* peer)
      : socket_(socket), draft_(draft), peer_(peer) {}
  Sent reply(std::size_t payload_bytes, Fill fill) override {
    return send_datagram(socket_, draft_.write(payload_bytes, fill), peer_);
  }
  Sent forward(const Received& received) override {
    return send_datagram(socket_, {received.header(), received.payload()}, peer_);
  }

 private:
  const Socket& socket_;
  FrameBuffer& draft_;
  const sockaddr_in* peer_;
};

class UdpClient final : public Client {
 public:
  UdpClient(Places& places, const Link& link)
      : inbox_(places.connect_socket(Address::parse(link.address)), link, places.drops), draft_(link) {}

  Sent start(std::size_t payload_bytes, Fill fill) override { return line_.reply(payload_bytes, fill); }
  Sent forward(const Received& received) override { return line_.forward(received); }

  std::size_t poll(Timeout timeout, Take take) override {
    const auto reply = inbox_.receive(timeout);
    if (reply) take(Received::split(*reply));
    return reply ? 1 : 0;
  }

 private:
  Inbox inbox_;
  FrameBuffer draft_;
  Line line_{inbox_.socket(), draft_, nullptr};
};

/// Replies to the sender of each request.
class UdpServer final : public Server {
 public:
  UdpServer(Places& places, const Link& link) : UdpServer(places, link, places.bind_socket()) {}

  std::string address() const override { return address_; }

  std::size_t poll(Timeout timeout, Handle handle) override {
    sockaddr_in sender{};
    const auto request = inbox_.receive(timeout, &sender);
    if (!request) return 0;
    Line line(inbox_.socket(), draft_, &sender);
    handle(Received::split(*request), line);
    return 1;
  }

 private:
  UdpServer(Places& places, const Link& link, std::pair<Socket, std::uint16_t> bound)
      : address_(places.setup.advertised() + ":" + std::to_string(bound.second)),
        inbox_(std::move(bound.first), link, places.drops),
        draft_(link) {}

  std::string address_;
  Inbox inbox_;
  FrameBuffer draft_;
};

class Udp final : public TransportOf<Places, UdpPublisher, UdpSubscriber, UdpServer, UdpClient> {
 public:
  using TransportOf::TransportOf;
  static std::string version() { return streams::kernel_version(); }

  Facts facts() override {
    Facts facts{{"path", (shared_.multicast ? "UDP multicast on " : "UDP on ") + shared_.setup.network_device()}};
    shared_.drops.add_to(facts);
    return facts;
  }
};

}  // namespace

int main(int argc, char** argv) { return run<Udp>(argc, argv); }
