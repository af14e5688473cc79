/// The adapter for Unix stream sockets: a socket file in the trial's folder, named after the link.
#include <sys/un.h>

#include "../../_streams/cpp/streams.hpp"

namespace {

using streams::Endpoint;
using streams::Error;
using streams::Socket;

class Unix final : public streams::Family {
 public:
  std::string path() const override { return "Unix sockets"; }

  explicit Unix(const hopmeter::Setup& setup)
      : directory_(setup.directory()), send_buffer_(setup.setting<int>("send_buffer")) {}

  Endpoint listen(const hopmeter::Link& link) const override {
    Endpoint endpoint{Socket::create(AF_UNIX), directory_ + "/" + link.name + ".sock"};
    call_at(endpoint.address, endpoint.listener, ::bind, "binding ");
    if (::listen(*endpoint.listener, streams::listen_backlog) != 0)
      throw Error::system("listening at " + endpoint.address);
    return endpoint;
  }

  void configure(const Socket& connection) const override { connection.set_send_buffer(send_buffer_); }

  Socket connect(const std::string& address) const override {
    auto connection = Socket::create(AF_UNIX);
    call_at(address, connection, ::connect, "connecting to ");
    return connection;
  }

  // Ignore errors, because the launcher removes the folder anyway.
  void remove_endpoint(const std::string& address) const noexcept override { ::unlink(address.c_str()); }

 private:
  /// Calls `bind` or `connect` with the address of a socket file.
  template <class Call>
  static void call_at(const std::string& path, const Socket& socket, Call call, const std::string& doing) {
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof place.sun_path) {
      throw Error(path + " is too long for the address of a Unix socket, which has at most 107 bytes",
                  "set TMPDIR to a folder with a shorter path");
    }
    path.copy(place.sun_path, path.size());
    if (call(*socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) throw Error::system(doing + path);
  }

  std::string directory_;
  int send_buffer_;
};

}  // namespace

int main(int argc, char** argv) { return hopmeter::run<streams::StreamTransport<Unix>>(argc, argv); }
