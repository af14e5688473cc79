/// The state that all link ends of a process share: YARP's network, port names and connections.
#pragma once

#include <unistd.h>
#include <yarp/os/Bottle.h>
#include <yarp/os/Contact.h>
#include <yarp/os/Network.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "hopmeter/hopmeter.hpp"

namespace yarps {

/// The timeout in seconds: longer than a busy machine takes to answer, but short enough for a waiting user.
inline constexpr double patience_s = 10;

/// The YARP network of this process, which is open during this object's lifetime.
class House {
 public:
  explicit House(const hopmeter::Setup& setup)
      : setup(setup),
        network_((find_plugins(), yarp::os::YARP_CLOCK_SYSTEM)),
        carrier_(setup.setting<std::string>("carrier")) {
    if (!yarp::os::Network::checkNetwork(patience_s))
      throw hopmeter::Error("there is no yarpserver at " + setup.broker(), "see its log");
  }

  /// Opens a port of any kind for a link end, and returns the port's unique name. Tries several port numbers, because
  /// the name server may assign a number that another program uses.
  std::string open(auto& port, const hopmeter::Link& link) {
    const std::lock_guard turn(asking_);
    for (int tries = 0; tries < 20; ++tries) {
      auto name = "/hopmeter/" + link.name + "/" + std::to_string(getpid()) + "_" + std::to_string(next_++);
      if (port.open(name)) return name;
    }
    throw hopmeter::Error("YARP cannot open a port for the link " + link.name, "see the node's log");
  }

  /// Closes a port, which contacts the name server. The lock differs from `asking_`, because closing waits for pending
  /// messages, which may have to reconnect.
  void shut(auto& port) const {
    const std::lock_guard turn(shutting_);
    port.close();
  }

  /// Throws if the YARP carrier cannot send replies, which calls need.
  void demand_replies() const {
    if (carrier_ == "udp")
      throw hopmeter::Error("YARP's carrier udp cannot send replies", "choose another carrier for calls");
  }

  bool connects(const std::string& from, const std::string& to) const {
    const std::lock_guard turn(asking_);
    const bool connected = yarp::os::Network::connect(from, to, carrier_);
    if (connected) carriers_.insert(carrier_between(from, to));
    return connected;
  }
  void connect(const std::string& from, const std::string& to) const {
    if (!connects(from, to))
      throw hopmeter::Error("YARP cannot connect " + from + " to " + to + " by " + carrier_,
                            "`yarp connect --list-carriers` lists the carriers that your YARP has");
  }

  /// Returns the YARP carriers that connect the link ends of this process, as facts.
  hopmeter::Facts facts() const {
    const std::lock_guard turn(asking_);
    std::string told;
    for (const auto& carrier : carriers_)
      if (!carrier.empty()) told += (told.empty() ? "" : ", ") + carrier;
    if (told.empty()) return {};
    hopmeter::Facts facts{{"path", "ports connected by the carrier " + told}};
    if (told != carrier_) facts.emplace_back("fallback", "YARP did not use the requested carrier " + carrier_);
    return facts;
  }

  hopmeter::Setup setup;

 private:
  /// Returns the YARP carrier that the connected port reports for a connection (empty if the port does not answer).
  static std::string carrier_between(const std::string& from, const std::string& to) {
    yarp::os::Bottle question("list in " + from), reply;
    const bool is_admin = true, is_quiet = true;
    yarp::os::Network::write(yarp::os::Contact(to), question, reply, is_admin, is_quiet, patience_s);
    return reply.find("carrier").asString();
  }

  /// Adds the folder of carrier plugins, which are installed next to the library, where YARP does not search.
  static void find_plugins() {
    const auto* root = std::getenv("YARP_ROOT");
    if (root) setenv("YARP_DATA_DIRS", (std::string(root) + "/share/yarp").c_str(), 0);
  }

  yarp::os::Network network_;
  std::string carrier_;
  /// The name server queues only two connections. YARP retries any other connection after 1 s, then after 2, 4, 8 and
  /// 16 s.
  mutable std::mutex asking_, shutting_;
  mutable std::set<std::string> carriers_;
  std::atomic<std::uint64_t> next_ = 0;
};

}  // namespace yarps
