// A baseline with cpp-httplib alone: a client posts a frame, and the server answers with the same frame. `http NODELAY
// BYTES ROUNDS CORES` prints the median round trip in ns. NODELAY is 1 or 0, for TCP_NODELAY at both ends. CORES is `A`
// or `A,B`, as in bare.h.
#include <httplib.h>

#include "bare.h"

static const char* const type = "application/octet-stream";

static int serve(int port_pipe, bool no_delay) {
  httplib::Server server;
  server.set_tcp_nodelay(no_delay);
  server.Post("/call", [](const httplib::Request& request, httplib::Response& response) {
    const int64_t arrived = now_ns();
    const head of = head_of(request.body.data(), request.body.size());
    response.set_content(request.body, type);
    note(of.number, arrived);
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  require(port > 0 && write(port_pipe, &port, sizeof port) == sizeof port, "start a server");
  server.listen_after_bind();
  return 0;
}

static void ask(int port, bool no_delay) {
  httplib::Client client("127.0.0.1", port);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(no_delay);
  for (size_t round = 0; round < rounds; round++) {
    std::string request(frame_bytes, '\0');
    write_head(request.data(), (int64_t)round);
    const auto reply = client.Post("/call", request, type);
    const int64_t arrived = now_ns();
    require(reply && reply->body.size() == frame_bytes, "get the reply");
    const head of = head_of(reply->body.data(), reply->body.size());
    require(of.number == (int64_t)round, "get the reply to the request");
    took[round] = arrived - of.sent;
    note(of.number, arrived);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without NODELAY BYTES ROUNDS CORES");
  const bool no_delay = atoi(words[1]);
  prepare(words + 2);
  int port_pipe[2], port = 0;
  require(pipe(port_pipe) == 0, "make a pipe");
  const pid_t server = other_process();
  if (server == 0) return serve(port_pipe[1], no_delay);
  require(read(port_pipe[0], &port, sizeof port) == sizeof port, "read the server's port");
  ask(port, no_delay);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  tell_median();
  return 0;
}
