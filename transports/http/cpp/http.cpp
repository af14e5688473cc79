/// The adapter for HTTP in C++, with cpp-httplib. ../README.md describes requests and replies.
#include <httplib.h>

#include "body.hpp"
#include "hopmeter/blocking_calls.hpp"
#include "hopmeter/called_server.hpp"
#include "hopmeter/credentials.hpp"
#include "hopmeter/host_port.hpp"
#include "hopmeter/transport_of.hpp"

namespace {

using hopmeter::Fill;
using hopmeter::Link;
using hopmeter::Sent;

/// The number of bytes that JSON adds to a payload in base64, with a margin.
constexpr std::size_t margin_bytes = 4096;

/// The state that all link ends of the process share.
struct Options {
  explicit Options(const hopmeter::Setup& setup)
      : setup(setup),
        is_json(setup.setting<std::string>("body") == "json"),
        keep_alive(setup.setting<bool>("keep_alive")),
        is_secure(hopmeter::uses_tls(setup)),
        no_delay(setup.setting<std::string>("tcp_nodelay")) {}

  const char* content_type() const { return is_json ? "application/json" : "application/octet-stream"; }

  std::unique_ptr<httplib::Server> server() const {
    if (!is_secure) return std::make_unique<httplib::Server>();
    const auto certificate = hopmeter::credential(setup, "server.pem"), key = hopmeter::credential(setup, "server.key");
    auto server = std::make_unique<httplib::SSLServer>(certificate.c_str(), key.c_str());
    if (!server->is_valid()) throw hopmeter::Error("reading the certificate " + certificate);
    return server;
  }

  /// Returns a client of the server at an address. With TLS, the client verifies the server's certificate.
  httplib::Client client(const std::string& address) const {
    httplib::Client client((is_secure ? "https://" : "http://") + address);
    if (is_secure) client.set_ca_cert_path(hopmeter::credential(setup, "ca.pem").c_str());
    return client;
  }

  /// Sets TCP_NODELAY of a client or a server, unless the library decides.
  void set_no_delay(auto& end) const {
    if (no_delay != "default") end.set_tcp_nodelay(no_delay == "on");
  }

  hopmeter::Setup setup;
  bool is_json, keep_alive, is_secure;
  std::string no_delay;
};

/// Writes the body of a reply.
class Answer final : public hopmeter::Replier {
 public:
  explicit Answer(bool is_json) : is_json_(is_json) {}

  Sent reply(std::size_t payload_bytes, Fill fill) override {
    body = body::write(is_json_, payload_bytes, fill);
    return Sent::accepted;
  }

  std::string body;

 private:
  bool is_json_;
};

class CallServer final : public hopmeter::CalledServer {
 public:
  CallServer(const Options& options, const Link& link)
      : CalledServer(link), options_(options), server_(options.server()) {
    options.set_no_delay(*server_);
    server_->set_keep_alive_max_count(options.setup.setting<std::size_t>("requests_per_connection"));
    server_->set_payload_max_length(link.frame_bytes / 3 * 4 + margin_bytes);  // room for base64
    server_->Post("/" + link.name, [this](const auto& request, auto& response) { respond(request, response); });
    port_ = server_->bind_to_any_port(options.setup.bind());
    if (port_ < 0) throw hopmeter::Error("binding a port of " + options.setup.bind());
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::yield();  // the library cannot stop a server that does not run yet
  }

  ~CallServer() override {
    close();
    server_->stop();
    thread_.join();
  }

  std::string address() const override { return options_.setup.advertised() + ":" + std::to_string(port_); }

 private:
  /// Responds to a request; the status is 503 if hopmeter does not answer the request, and 400 if the request's body is
  /// invalid.
  void respond(const httplib::Request& request, httplib::Response& response) {
    Answer reply(options_.is_json);
    try {
      body::read(options_.is_json, request.body, [&](const auto& received) { answer(received, reply); });
    } catch (const nlohmann::json::exception&) {
      response.status = 400;
      return;
    }
    response.status = reply.body.empty() ? 503 : 200;
    response.body = std::move(reply.body);
    response.set_header("Content-Type", options_.content_type());
  }

  const Options& options_;
  std::unique_ptr<httplib::Server> server_;
  int port_ = -1;
  std::thread thread_;
};

class CallClient final : public hopmeter::Client {
 public:
  CallClient(const Options& options, const Link& link)
      : options_(options),
        client_(options.client(link.address)),
        calls_([this, path = "/" + link.name](const std::string& request) { return call(path, request); },
               [this] { client_.stop(); }) {
    client_.set_keep_alive(options.keep_alive);
    options.set_no_delay(client_);
  }

  Sent start(std::size_t payload_bytes, Fill fill) override {
    if (!calls_.is_idle()) return Sent::busy;
    calls_.start(body::write(options_.is_json, payload_bytes, fill));
    return Sent::accepted;
  }

  std::size_t poll(hopmeter::Timeout timeout, hopmeter::Take take) override {
    const auto reply = calls_.poll(timeout);
    if (reply) body::read(options_.is_json, *reply, take);
    return reply ? 1 : 0;
  }

 private:
  /// Makes a call. Returns nothing if the server has disconnected or has not answered.
  std::optional<std::string> call(const std::string& path, const std::string& request) {
    auto result = client_.Post(path, request, options_.content_type());
    if (!result || result->status != 200) return std::nullopt;
    return std::move(result->body);
  }

  const Options& options_;
  httplib::Client client_;
  hopmeter::BlockingCalls<std::string, std::string> calls_;
};

class Http final : public hopmeter::TransportOf<Options, CallServer, CallClient> {
 public:
  using TransportOf::TransportOf;

  static std::string version() { return "cpp-httplib " CPPHTTPLIB_VERSION; }

  hopmeter::Facts facts() override {
    const std::string above = shared_.is_secure ? "TLS over " : "";
    return {{"path", "HTTP/1.1 over " + above + "TCP on " + shared_.setup.network_device()}};
  }
};

}  // namespace

int main(int argc, char** argv) { return hopmeter::run<Http>(argc, argv); }
