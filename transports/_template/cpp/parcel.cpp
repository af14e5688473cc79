/// Parcel: one packet of a Unix socket is one frame. The wire format: ../README.md, the contract:
/// cpp/include/hopmeter/contract.hpp.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hopmeter/hopmeter.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;

namespace {

/// A receiver that takes nothing for so long has stopped, and would otherwise stop the sender with it.
constexpr auto patience = 5s;

/// Closes what it holds: closing is certain, whatever is thrown.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) throw Error::system("making a socket");
  }
  Socket(Socket&& from) noexcept : descriptor_(std::exchange(from.descriptor_, -1)) {}
  Socket& operator=(Socket&& from) noexcept {
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const noexcept { return descriptor_; }

  /// Sets SO_SNDTIMEO or SO_RCVTIMEO.
  void set_patience(int option, Timeout timeout) const {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
    const timeval value{us / 1'000'000, us % 1'000'000};
    if (::setsockopt(descriptor_, SOL_SOCKET, option, &value, sizeof value) != 0) throw Error::system("setsockopt");
  }

 private:
  int descriptor_;
};

Socket packet_socket(int flags) { return Socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0)); }

/// Calls `bind` or `connect` with the address of a socket file.
template <class Call>
void at(const std::string& path, const Socket& socket, Call call, const char* doing) {
  sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof place.sun_path) {
    throw Error("the path " + path + " is too long for a socket", "let TMPDIR name a folder with a shorter path");
  }
  path.copy(place.sun_path, path.size());
  if (call(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
    throw Error::system(doing + path);
  }
}

class Sender final : public Publisher {
 public:
  // Opening may take its time: nothing is measured yet. Whatever the path of a message needs is made here, not there.
  Sender(std::string path, int backlog, std::size_t frame_bytes)
      : path_(std::move(path)), listener_(packet_socket(SOCK_NONBLOCK)), buffer_(frame_bytes) {
    at(path_, listener_, ::bind, "binding ");
    if (::listen(listener_.get(), backlog) != 0) throw Error::system("listening at " + path_);
  }
  ~Sender() override {
    std::error_code gone_already;
    std::filesystem::remove(path_, gone_already);
  }

  // Receivers are told this address; here it is the only way to find this end.
  std::string address() const override { return path_; }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    accept();
    const auto frame = std::span(buffer_).first(header_bytes + payload_bytes);
    // `fill` stamps the time, so it comes as late as it can. A library that lends memory: fill that instead.
    fill(frame);
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    for (auto receiver = receivers_.begin(); receiver != receivers_.end();) {
      if (::send(receiver->get(), frame.data(), frame.size(), flags) >= 0) {
        // Once one receiver has the frame, all must get it: busy now would send it twice.
        flags = MSG_NOSIGNAL;
        ++receiver;
      } else if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) {
        return Sent::busy;
      } else if (errno == EPIPE || errno == ECONNRESET) {
        // Who receives may die at any time. That is loss, which the instrument counts, and no failure of this end.
        receiver = receivers_.erase(receiver);
      } else {
        throw Error::system("sending a packet");
      }
    }
    return Sent::accepted;
  }

 private:
  /// Lets in who has connected since; a receiver may come at any time.
  void accept() {
    for (;;) {
      const int receiver = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (receiver < 0 && errno == EAGAIN) return;
      receivers_.emplace_back(receiver).set_patience(SO_SNDTIMEO, patience);
    }
  }

  std::string path_;
  Socket listener_;
  std::vector<Socket> receivers_;
  std::vector<std::byte> buffer_;
};

class Receiver final : public Subscriber {
 public:
  Receiver(const std::string& address, bool blocks, std::size_t frame_bytes)
      : connection_(packet_socket(0)), blocks_(blocks), buffer_(frame_bytes) {
    at(address, connection_, ::connect, "connecting to ");
  }

  std::size_t poll(Timeout timeout, Take take) override {
    const bool waits = blocks_ && timeout > 0ns;
    // Setting it costs a system call, so it is set only when it changes.
    if (waits && timeout != timeout_) connection_.set_patience(SO_RCVTIMEO, timeout_ = timeout);
    // `spin` looks once and returns. `block` sleeps in the transport itself, never in a loop around it.
    const auto bytes = ::recv(connection_.get(), buffer_.data(), buffer_.size(), waits ? 0 : MSG_DONTWAIT);
    if (bytes > 0) {
      take(Received::split(std::span(buffer_).first(static_cast<std::size_t>(bytes))));
      return 1;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (bytes < 0 && errno != ECONNRESET) throw Error::system("receiving a packet");
    // The sender is gone for good; without this pause the role would ask without end.
    if (waits) std::this_thread::sleep_for(timeout);
    return 0;
  }

 private:
  Socket connection_;
  bool blocks_;
  Timeout timeout_{};
  std::vector<std::byte> buffer_;
};

/// One per process. What all ends share (a session, a context, a broker's connection) belongs here.
class ParcelTransport final : public Transport {
 public:
  explicit ParcelTransport(const Setup& setup) : setup_(setup), backlog_(setup.setting<int>("backlog")) {}

  /// As the library itself says it, not as a package pins it.
  static std::string version() {
    utsname kernel{};
    ::uname(&kernel);
    return std::string("Linux ") + kernel.release;
  }

  /// Which way the bytes really took, for the result: where there are several, ask the library and not the settings.
  Facts facts() override { return {{"path", "packets of Unix sockets"}}; }

  Owned<Publisher> publisher(const Link& link) override {
    return std::make_unique<Sender>(setup_.directory() + "/" + link.name + ".sock", backlog_, setup_.frame_bytes());
  }

  Owned<Subscriber> subscriber(const Link& link) override {
    return std::make_unique<Receiver>(link.address, setup_.wait() == Wait::block, setup_.frame_bytes());
  }

 private:
  Setup setup_;
  int backlog_;
};

}  // namespace

int main(int argc, char** argv) { return run<ParcelTransport>(argc, argv); }
