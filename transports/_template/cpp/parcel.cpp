/// Parcel, an example adapter: one packet of a Unix socket is one frame. ../README.md describes the wire format, and
/// cpp/include/hopmeter/contract.hpp the contract.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/resource.hpp"
#include "hopmeter/transport_of.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;

namespace {

/// The time after which a receiver that accepts nothing counts as hung. Without this limit, a hung receiver would block
/// the sender forever.
constexpr auto patience = 5s;

/// Sets SO_SNDTIMEO or SO_RCVTIMEO.
void set_timeout(const Descriptor& socket, int option, Timeout timeout) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  const timeval value{us / 1'000'000, us % 1'000'000};
  if (::setsockopt(*socket, SOL_SOCKET, option, &value, sizeof value) != 0) throw Error::system("setsockopt");
}

// A `Descriptor` closes itself, even after an exception. For the handles of a library, use `Resource` from
// hopmeter/resource.hpp.
Descriptor packet_socket(int flags) {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0), "making a socket");
}

/// Calls `bind` or `connect` with the address of a socket file.
template <class Call>
void call_at(const std::string& path, const Descriptor& socket, Call call, const char* doing) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) {
    throw Error("the path " + path + " is too long for a socket", "set TMPDIR to a folder with a shorter path");
  }
  path.copy(address.sun_path, path.size());
  if (call(*socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw Error::system(doing + path);
  }
}

class Sender final : public Publisher {
 public:
  // Opening a link end may be slow, because hopmeter does not measure it. Prepare here everything that a send needs.
  Sender(const Setup& setup, const Link& link)
      : path_(setup.directory() + "/" + link.name + ".sock"),
        listener_(packet_socket(SOCK_NONBLOCK)),
        buffer_(link.frame_bytes) {
    call_at(path_, listener_, ::bind, "binding ");
    if (::listen(*listener_, setup.setting<int>("backlog")) != 0) throw Error::system("listening at " + path_);
  }
  ~Sender() override {
    std::error_code gone_already;
    std::filesystem::remove(path_, gone_already);
  }

  // Receivers connect to this address, because this transport has no discovery.
  std::string address() const override { return path_; }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    accept_all();
    const auto frame = std::span(buffer_).first(header_bytes + payload_bytes);
    // The last step of `fill` reads the sent time, so call `fill` as late as you can. If your library loans memory, let
    // `fill` write into that memory instead.
    fill(frame);
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    for (auto receiver = receivers_.begin(); receiver != receivers_.end();) {
      if (::send(**receiver, frame.data(), frame.size(), flags) >= 0) {
        // Once one receiver has the frame, send the frame to all receivers, because after `busy` the role would send
        // the frame again.
        flags = MSG_NOSIGNAL;
        ++receiver;
      } else if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) {
        return Sent::busy;
      } else if (errno == EPIPE || errno == ECONNRESET) {
        // A receiver may die at any time. The instrument counts messages to a dead receiver as lost, so the sender
        // reports no failure.
        receiver = receivers_.erase(receiver);
      } else {
        throw Error::system("sending a packet");
      }
    }
    return Sent::accepted;
  }

 private:
  /// Accepts new receivers, which may connect at any time.
  void accept_all() {
    for (;;) {
      const int receiver = ::accept4(*listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (receiver < 0 && errno == EAGAIN) return;
      set_timeout(receivers_.emplace_back(receiver, "accepting a receiver"), SO_SNDTIMEO, patience);
    }
  }

  std::string path_;
  Descriptor listener_;
  std::vector<Descriptor> receivers_;
  std::vector<std::byte> buffer_;
};

class Receiver final : public Subscriber {
 public:
  Receiver(const Setup& setup, const Link& link)
      : connection_(packet_socket(0)), blocks_(link.wait == Wait::block), buffer_(link.frame_bytes) {
    call_at(link.address, connection_, ::connect, "connecting to ");
  }

  std::size_t poll(Timeout timeout, Take take) override {
    const bool waits = blocks_ && timeout > 0ns;
    // Set the timeout only if it has changed, because setting a timeout takes a system call.
    if (waits && timeout != timeout_) set_timeout(connection_, SO_RCVTIMEO, timeout_ = timeout);
    // With `spin`, checks once without sleeping. With `block`, sleeps in the transport itself, not in a polling loop.
    const auto bytes = ::recv(*connection_, buffer_.data(), buffer_.size(), waits ? 0 : MSG_DONTWAIT);
    if (bytes > 0) {
      take(Received::split(std::span(buffer_).first(static_cast<std::size_t>(bytes))));
      return 1;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (bytes < 0 && errno != ECONNRESET) throw Error::system("receiving a packet");
    // The sender does not reconnect. Without this pause, the role would poll in a busy loop.
    if (waits) std::this_thread::sleep_for(timeout);
    return 0;
  }

 private:
  Descriptor connection_;
  bool blocks_;
  Timeout timeout_{};
  std::vector<std::byte> buffer_;
};

/// There is one transport per process. `TransportOf` creates both link ends from the setup and their link. Instead of
/// `Setup`, name a class with the objects that all link ends share: a session, a context, a connection to a broker.
class ParcelTransport final : public TransportOf<Setup, Sender, Receiver> {
 public:
  using TransportOf::TransportOf;

  /// Returns the version that the library reports, or its version at build time; never write the version as a literal.
  static std::string version() {
    utsname kernel{};
    ::uname(&kernel);
    return std::string("Linux ") + kernel.release;
  }

  /// Reports how the bytes travelled. If several mechanisms are possible, ask the library which mechanism was used,
  /// because the settings do not prove this.
  Facts facts() override { return {{"path", "packets of Unix sockets"}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<ParcelTransport>(argc, argv); }
