/// Frames over streams: the code that the `unix`, `tcp` and `pipe` adapters share. ../README.md describes the wire
/// format.
#pragma once

#include "calls.hpp"
#include "publisher.hpp"
#include "subscriber.hpp"

namespace streams {

/// A transport over stream sockets of one family, which is created from the setup and reports the fact `path`.
template <std::derived_from<Family> Ours>
class StreamTransport : public hopmeter::Transport {
 public:
  explicit StreamTransport(const hopmeter::Setup& setup) : family_(setup) {}

  static std::string version() { return kernel_version(); }

  hopmeter::Owned<hopmeter::Publisher> publisher(const hopmeter::Link& link) override {
    return std::make_unique<StreamPublisher>(family_, link);
  }

  hopmeter::Owned<hopmeter::Subscriber> subscriber(const hopmeter::Link& link) override {
    return std::make_unique<StreamSubscriber>(family_.connect(link.address), blocks(link), link.frame_bytes);
  }

  hopmeter::Owned<hopmeter::Server> server(const hopmeter::Link& link) override {
    return std::make_unique<StreamServer>(family_, link, blocks(link));
  }

  hopmeter::Owned<hopmeter::Client> client(const hopmeter::Link& link) override {
    return std::make_unique<StreamClient>(family_.connect(link.address), blocks(link), link.frame_bytes);
  }

  hopmeter::Facts facts() override { return {{"path", family_.path()}}; }

 private:
  static bool blocks(const hopmeter::Link& link) { return link.wait == hopmeter::Wait::block; }

  Ours family_;
};

}  // namespace streams
