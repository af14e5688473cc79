/// Tests whole nodes in child processes with failing adapters: the reports to the launcher, and the exit status.
#include "hopmeter/hopmeter.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "check.hpp"

using namespace hopmeter;

namespace {

class Silent final : public Publisher {
 public:
  Sent send(std::size_t, Fill) override { throw Error("the wire is cut", "mend it"); }
};

/// An adapter that fails in the way that the setting `fault` names.
class Faulty final : public Transport {
 public:
  explicit Faulty(const Setup& setup) : fault_(setup.setting<std::string>("fault")) {
    if (fault_ == "open") throw Error("no broker", "start it");
    if (fault_ == "unknown setting") setup.setting<int>("depth");
    if (fault_ == "wrong type") setup.setting<bool>("fault");
    if (fault_ == "out of range") setup.setting<std::uint8_t>("many");
  }
  static std::string version() { return "1.2.3"; }

  Owned<Publisher> publisher(const Link& link) override {
    if (fault_ == "nothing") return {};
    if (fault_ == "unsupported") return Transport::publisher(link);
    return std::make_unique<Silent>();
  }

 private:
  std::string fault_;
};

std::string spec(const std::string& folder, const std::string& fault) {
  return R"({"format": 7, "run": "00000000000000aa", "cell": "c", "trial": 0, "node": 0, "transport": "faulty",
    "settings": {"many": 256, "fault": ")" +
         fault + R"("}, "directory": ")" + folder + R"(", "adapter": null, "wait": "block", "fifo": 0, "mlock": false,
    "flows": [{"number": 0, "pattern": "pubsub", "payload": {"kind": "bytes"}, "payload_bytes": 8, "touch": "none",
    "messages": 1, "warmup": 0, "checksum": false, "rpc": "duplex", "reply": "echo",
    "pace": {"kind": "open", "rate_hz": 100.0, "burst": 1, "spin_ns": 0, "seed": 1}}], "limit_ns": 1000000000, "drain_ns": 1000000,
    "retry_ns": 1000000,
    "endpoints": [{"id": 0, "role": "source", "flow": 0, "core": null, "in": [], "out": ["l0"],
                      "work": {"kind": "none"}, "samples": ")" +
         folder + R"(/samples", "capacity": 8}], "links": {"l0": {"name": "x_l0", "receivers": 1, "wait": "block"}}})";
}

/// A temporary folder that is removed at the end of the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "hopmeter-XXXXXX") {
    std::string name = path_.string();
    check(::mkdtemp(name.data()) != nullptr, "a folder can be made");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Runs a node in a child process. Returns the node's output on the control channel, followed by its exit status.
std::string said_by_node(const std::string& fault) {
  const Folder folder;
  std::ofstream(folder.path() + "/spec") << spec(folder.path(), fault);
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket pair");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    // Discards stderr, because only the control channel is tested.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(100);
    std::string fd = std::to_string(ends[1]), file = folder.path() + "/spec";
    std::string words[] = {"node", "--spec", file, "--control-fd", fd};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    ::_exit(run<Faulty>(5, argv));
  }
  ::close(ends[1]);
  const std::string orders = R"({"say":"connect","links":{"l0":""}}
{"say":"probe"}
)";
  // Sending may fail, because the node may already have exited.
  (void)!::send(ends[0], orders.data(), orders.size(), MSG_NOSIGNAL);
  std::string said;
  char piece[4096];
  for (ssize_t bytes; (bytes = ::read(ends[0], piece, sizeof piece)) > 0;) said.append(piece, bytes);
  ::close(ends[0]);
  int status = 0;
  check(::waitpid(child, &status, 0) == child, "the child ends");
  return said + "exit " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 1000);
}

void check_said(const std::string& fault, const std::string& what, const std::string& remedy) {
  const auto said = said_by_node(fault);
  check(said.find(R"("say":"failed")") != std::string::npos, fault + ": it says failed: " + said);
  check(said.find(what) != std::string::npos, fault + ": `" + what + "` in " + said);
  check(said.find(R"("remedy":)" + remedy) != std::string::npos, fault + ": remedy " + remedy + " in " + said);
  check(said.ends_with("exit 1"), fault + ": it exits 1: " + said);
}

void failures_reach_the_launcher_with_their_remedy() {
  check_said("open", "no broker", R"("start it")");
  check_said("send", "the wire is cut", R"("mend it")");
  check_said("unsupported", "the adapter does not implement publisher (needed for link x_l0)", R"("in transport.toml)");
  check_said("nothing", "the adapter returned null, although a Publisher was requested", "");
}

void settings_say_what_is_wrong_with_them() {
  check_said("unknown setting", "the setting `depth` is unknown", R"("declare it under [settings])");
  check_said("wrong type", R"(the setting `fault` = \"wrong type\")", "");
  check_said("out of range", "the setting `many` is out of range", "");
}

void a_node_of_other_headers_is_refused() {
  HopmeterAdapter other = adapter<Faulty>;
  other.abi = 999;
  const char* argv[] = {"node", "--describe"};
  check(hopmeter_main(2, argv, &other) == 1, "its tables would be misread");
}

}  // namespace

int main() {
  failures_reach_the_launcher_with_their_remedy();
  settings_say_what_is_wrong_with_them();
  a_node_of_other_headers_is_refused();
}
