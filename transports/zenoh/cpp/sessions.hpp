/// The sessions of a node, and the peers that each session connects to; see ../README.md.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "frames.hpp"
#include "hopmeter/resource.hpp"

namespace peers {

using SessionPointer = std::shared_ptr<zenoh::Session>;

/// A listening session, with its address.
struct Listening {
  SessionPointer session;
  std::string address;
};

class Sessions {
 public:
  Sessions(const Setup& setup, const SharedMemory& shared_memory)
      : is_shared_(setup.setting<std::string>("session") == "shared"),
        shared_memory_(shared_memory),
        bind_(setup.bind()),
        advertised_(setup.advertised()),
        message_bytes_(setup.largest_frame_bytes() + margin_bytes) {}

  /// Returns the session for a binding end.
  Listening listening_session() {
    const std::lock_guard lock(mutex_);
    if (!is_shared_) return listen();
    if (!listening_.session) listening_ = listen();
    return listening_;
  }

  /// Returns the session for a connecting end.
  SessionPointer session_to(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (listening_.session && listening_.address == address) return listening_.session;
    reach_others_ = true;
    if (!is_shared_) return open("connect/endpoints", address);
    auto& session = connected_[address];
    if (!session) session = open("connect/endpoints", address);
    return session;
  }

  /// Whether any link of this node connects to another session.
  bool reach_others() const noexcept { return reach_others_; }

 private:
  /// The maximum number of bytes that zenoh adds to a frame, with a margin for its own messages.
  static constexpr std::size_t margin_bytes = 65'536;
  static constexpr int ports_tried = 20;

  /// Opens a listening session on a free port. The adapter chooses the port, because the C++ API does not report a port
  /// that zenoh chooses. Another program may take the port before zenoh does.
  Listening listen() const {
    for (int tries = 1;; ++tries) {
      const auto port = std::to_string(free_port());
      try {
        return {open("listen/endpoints", "tcp/" + bind_ + ":" + port), "tcp/" + advertised_ + ":" + port};
      } catch (const Error&) {
        if (tries == ports_tried) throw;
      }
    }
  }

  int free_port() const {
    const hopmeter::Descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "looking for a free port");
    sockaddr_in place{};
    place.sin_family = AF_INET;
    socklen_t bytes = sizeof place;
    auto* raw = reinterpret_cast<sockaddr*>(&place);
    if (::inet_pton(AF_INET, bind_.c_str(), &place.sin_addr) != 1 || ::bind(*probe, raw, bytes) != 0 ||
        ::getsockname(*probe, raw, &bytes) != 0)
      throw Error::system("looking for a free port on " + bind_);
    return ntohs(place.sin_port);
  }

  /// Opens a session of a peer that listens or connects at one address, and searches for no other peers.
  SessionPointer open(const std::string& key, const std::string& endpoint) const try {
    const auto word = [](bool value) { return value ? "true" : "false"; };
    auto config = zenoh::Config::create_default();
    for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
             {"mode", "\"peer\""},
             {"scouting/multicast/enabled", "false"},
             {"scouting/gossip/enabled", "false"},
             {"listen/endpoints", "[]"},
             {"connect/exit_on_failure", "true"},
             {"connect/timeout_ms", "10000"},
             {"transport/link/rx/max_message_size", std::to_string(message_bytes_)},
             {"transport/shared_memory/enabled", word(shared_memory_.is_on())},
             {"transport/shared_memory/transport_optimization/enabled", word(shared_memory_.is_automatic())},
             {key, "[\"" + endpoint + "\"]"}})
      config.insert_json5(name, value);
    return std::make_shared<zenoh::Session>(std::move(config));
  } catch (const zenoh::ZException&) {
    std::throw_with_nested(Error("opening a zenoh session at " + endpoint));
  }

  const bool is_shared_;
  const SharedMemory& shared_memory_;
  const std::string bind_, advertised_;
  /// The largest message that a session may receive.
  const std::size_t message_bytes_;
  std::mutex mutex_;
  Listening listening_;
  std::map<std::string, SessionPointer> connected_;
  std::atomic<bool> reach_others_ = false;
};

}  // namespace peers
