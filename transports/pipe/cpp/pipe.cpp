/// The adapter for named pipes: one pipe for each receiver, and one pipe through which receivers join.
#include "../../_streams/cpp/fifo.hpp"
#include "../../_streams/cpp/streams.hpp"

namespace {

using streams::Endpoint;
using streams::Error;
using streams::Socket;

class Pipes final : public streams::Family {
 public:
  explicit Pipes(const hopmeter::Setup& setup)
      : directory_(setup.directory()), pipe_size_(setup.setting<int>("pipe_size")) {}

  std::string path() const override { return "named pipes"; }

  Endpoint listen(const hopmeter::Link& link) const override {
    const auto path = directory_ + "/" + link.name + ".fifo";
    return {streams::fifo::listen(path), path};
  }

  std::optional<Socket> accept(const Socket& listener) const override {
    auto joined = streams::fifo::accept(listener, directory_);
    if (!joined) return std::nullopt;
    set_size(joined->pipe);
    return std::move(joined->pipe);
  }

  Socket connect(const std::string& address) const override {
    return streams::fifo::connect(address, "", [](const std::string&) {}).pipe;
  }

  // Ignore errors, because the launcher removes the folder anyway.
  void remove_endpoint(const std::string& address) const noexcept override { ::unlink(address.c_str()); }

 private:
  /// Sets the capacity of a pipe; 0 keeps the system's default. The kernel rounds the capacity up to a power of two of
  /// pages.
  void set_size(const Socket& pipe) const {
    if (pipe_size_ == 0 || ::fcntl(*pipe, F_SETPIPE_SZ, pipe_size_) >= 0) return;
    const auto bytes = std::to_string(pipe_size_);
    throw Error::system("the system refuses a pipe of " + bytes + " bytes",
                        "request a smaller size, or raise the limit: sysctl -w fs.pipe-max-size=" + bytes);
  }

  std::string directory_;
  int pipe_size_;
};

}  // namespace

int main(int argc, char** argv) { return hopmeter::run<streams::StreamTransport<Pipes>>(argc, argv); }
