#include "channel.hpp"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

namespace channel {

namespace {

using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::protocol::TCompactProtocolFactory;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TFramedTransport;

constexpr const char* host = "127.0.0.1";
/// What a message adds to the frame it carries: names of the call and the fields' tags, generously.
constexpr std::size_t message_bytes = 4096;

/// Makes transports that know the limits, which Thrift's own factories leave at their defaults.
class Transports final : public apache::thrift::transport::TTransportFactory {
 public:
  Transports(bool framed, std::uint32_t buffer_bytes, std::shared_ptr<TConfiguration> limits)
      : framed_(framed), buffer_bytes_(buffer_bytes), limits_(std::move(limits)) {}

  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> under) override {
    if (framed_) return std::make_shared<TFramedTransport>(under, limits_);
    return std::make_shared<TBufferedTransport>(under, buffer_bytes_, limits_);
  }

 private:
  bool framed_;
  std::uint32_t buffer_bytes_;
  std::shared_ptr<TConfiguration> limits_;
};

/// Thrift's own limits, but for larger frames.
std::shared_ptr<TConfiguration> limits_for(std::size_t frame_bytes) {
  constexpr int message = TConfiguration::DEFAULT_MAX_MESSAGE_SIZE, frame = TConfiguration::DEFAULT_MAX_FRAME_SIZE;
  const int largest = static_cast<int>(frame_bytes + message_bytes);
  return std::make_shared<TConfiguration>(std::max(largest, message), std::max(largest, frame));
}

std::uint32_t buffer_of(const hopmeter::Setup& setup) {
  const auto asked = setup.setting<std::uint32_t>("buffer");
  return asked == 0 ? static_cast<std::uint32_t>(TBufferedTransport::DEFAULT_BUFFER_SIZE) : asked;
}

std::shared_ptr<TProtocolFactory> protocols_of(const hopmeter::Setup& setup) {
  if (setup.setting<std::string>("protocol") == "compact") return std::make_shared<TCompactProtocolFactory>();
  return std::make_shared<TBinaryProtocolFactory>();
}

std::string path_of(const Stack& stack, const hopmeter::Link& link) {
  return stack.directory + "/" + link.name + ".thrift";
}

int port_of(const std::string& address) {
  int port = 0;
  const auto colon = address.rfind(':');
  const auto begin = address.data() + (colon == std::string::npos ? address.size() : colon + 1);
  const auto end = address.data() + address.size();
  const auto [read, error] = std::from_chars(begin, end, port);
  if (error != std::errc() || read != end) throw hopmeter::Error("the address " + address + " is no HOST:PORT");
  return port;
}

}  // namespace

Stack::Stack(const hopmeter::Setup& setup)
    : unix_sockets(setup.setting<std::string>("endpoint") == "unix"),
      directory(setup.directory()),
      limits(limits_for(setup.frame_bytes())),
      transports(
          std::make_shared<Transports>(setup.setting<std::string>("transport") == "framed", buffer_of(setup), limits)),
      protocols(protocols_of(setup)) {}

std::uint32_t Socket::read(std::uint8_t* buffer, std::uint32_t length) {
  for (;;) {
    try {
      const auto got = TSocket::read(buffer, length);
      begun_ = true;
      ended_ = got == 0;
      return got;
    } catch (const TTransportException& error) {
      if (!begun_ || error.getType() != TTransportException::TIMED_OUT) throw;
    }
  }
}

void Socket::expect(hopmeter::Timeout timeout, bool begun) {
  begun_ = begun;
  const auto wanted = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  const int timeout_ms = static_cast<int>(std::max<std::int64_t>(1, wanted));
  if (timeout_ms == timeout_ms_) return;
  setRecvTimeout(timeout_ms);
  timeout_ms_ = timeout_ms;
}

Channel::Channel(const Stack& stack, std::shared_ptr<Socket> socket)
    : socket_(std::move(socket)),
      transport_(stack.transports->getTransport(socket_)),
      protocol_(stack.protocols->getProtocol(transport_)) {}

Channel Channel::connected(const Stack& stack, const std::string& address) {
  const auto socket = stack.unix_sockets ? std::make_shared<Socket>(address, stack.limits)
                                         : std::make_shared<Socket>(host, port_of(address), stack.limits);
  Channel channel(stack, socket);
  channel.transport_->open();
  return channel;
}

bool Channel::buffered() const {
  std::uint32_t one = 1;
  return transport_->borrow(nullptr, &one) != nullptr;
}

bool Channel::left(const TTransportException& error) const noexcept {
  return socket_->ended() || error.getType() == TTransportException::NOT_OPEN;
}

Listener::Listener(const std::string& path, std::shared_ptr<TConfiguration> limits)
    : TServerSocket(path), limits_(std::move(limits)) {}

Listener::Listener(const std::string& host, int port, std::shared_ptr<TConfiguration> limits)
    : TServerSocket(host, port), limits_(std::move(limits)) {}

std::shared_ptr<Listener> Listener::bound(const Stack& stack, const hopmeter::Link& link, bool interruptable) {
  auto* made =
      stack.unix_sockets ? new Listener(path_of(stack, link), stack.limits) : new Listener(host, 0, stack.limits);
  std::shared_ptr<Listener> listener(made);
  listener->setInterruptableChildren(interruptable);
  listener->listen();
  return listener;
}

Listener::~Listener() {
  std::error_code ignored;  // a trial's folder goes as a whole
  if (isUnixDomainSocket()) std::filesystem::remove(getPath(), ignored);
}

void Listener::listen() {
  if (!std::exchange(bound_, true)) TServerSocket::listen();
}

std::string Listener::address() const {
  return isUnixDomainSocket() ? getPath() : std::string(host) + ":" + std::to_string(getPort());
}

std::shared_ptr<TSocket> Listener::createSocket(int connection) {
  if (interruptableChildren_) return std::make_shared<Socket>(connection, pChildInterruptSockReader_, limits_);
  return std::make_shared<Socket>(connection, limits_);
}

}  // namespace channel
