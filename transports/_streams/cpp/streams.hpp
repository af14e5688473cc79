/// Frames over stream sockets: what the `unix` and the `tcp` adapter share. The wire format stands in `../README.md`.
#pragma once

#include <sys/utsname.h>

#include "calls.hpp"
#include "receiver.hpp"
#include "sender.hpp"

namespace streams {

/// A transport of stream sockets of one family, which is made from the setup and says in `path` which way the bytes go.
template <std::derived_from<Family> Ours>
class Streams : public hopmeter::Transport {
 public:
  explicit Streams(const hopmeter::Setup& setup) : setup_(setup), family_(setup) {}

  /// The kernel is the library here.
  static std::string version() {
    utsname kernel{};
    return ::uname(&kernel) == 0 ? std::string("Linux ") + kernel.release : "Linux";
  }

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return std::make_unique<Sender>(family_, link, setup_.frame_bytes());
  }

  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return std::make_unique<Receiver>(family_.connect(link.address), blocks(), setup_.frame_bytes());
  }

  hopmeter::Owned<hopmeter::Server> server(const hopmeter::Link& link) override {
    return std::make_unique<Answering>(family_, link, blocks(), setup_.frame_bytes());
  }

  hopmeter::Owned<hopmeter::Client> client(const hopmeter::Link& link) override {
    return std::make_unique<Asking>(family_.connect(link.address), blocks(), setup_.frame_bytes());
  }

  hopmeter::Facts facts() override { return {{"path", Ours::path}}; }

 private:
  bool blocks() const { return setup_.wait() == hopmeter::Wait::block; }

  hopmeter::Setup setup_;
  Ours family_;
};

}  // namespace streams
