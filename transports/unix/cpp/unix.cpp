/// Unix stream sockets: a socket file in the trial's own folder, named after the link.
#include <sys/un.h>

#include "../../_streams/cpp/streams.hpp"

namespace {

using streams::Endpoint;
using streams::Error;
using streams::Socket;

class Unix final : public streams::Family {
 public:
  static constexpr const char* path = "Unix sockets";

  explicit Unix(const hopmeter::Setup& setup)
      : directory_(setup.directory()), send_buffer_(setup.setting<int>("send_buffer")) {}

  Endpoint listen(const hopmeter::Link& link) const override {
    Endpoint made{Socket::of(AF_UNIX), directory_ + "/" + link.name + ".sock"};
    at(made.address, made.listener, ::bind, "binding ");
    if (::listen(*made.listener, streams::waiting_receivers) != 0) throw Error::system("listening at " + made.address);
    return made;
  }

  void accepted(const Socket& connection) const override { connection.set_send_buffer(send_buffer_); }

  Socket connect(const std::string& address) const override {
    auto connection = Socket::of(AF_UNIX);
    at(address, connection, ::connect, "connecting to ");
    return connection;
  }

  // The launcher removes the folder in any case.
  void removed(const std::string& address) const noexcept override { ::unlink(address.c_str()); }

 private:
  /// Calls `bind` or `connect` with the address of a socket file.
  template <class Call>
  static void at(const std::string& path, const Socket& socket, Call call, const std::string& doing) {
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof place.sun_path) {
      throw Error(path + " is no address of a Unix socket, which has at most 107 bytes",
                  "let TMPDIR name a folder with a shorter path");
    }
    path.copy(place.sun_path, path.size());
    if (call(*socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) throw Error::system(doing + path);
  }

  std::string directory_;
  int send_buffer_;
};

}  // namespace

int main(int argc, char** argv) { return hopmeter::run<streams::Streams<Unix>>(argc, argv); }
