// A baseline with Boost.Beast alone: each message travels out on one WebSocket and back on another. The sender is the
// server and the receiver the client, as in transports/websocket. `websocket WAY BYTES ROUNDS CORES` prints the median
// round trip in ns. WAY `alike` receives with an io_context, as a program with several connections or a timeout must.
// WAY `plain` reads without a timeout. CORES is `A` or `A,B`, as in bare.h.
#include <utility>  // in C++20, boost/asio.hpp of Boost 1.74 uses std::exchange without including <utility>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <string_view>

#include "bare.h"

namespace beast = boost::beast;
namespace net = boost::asio;
using net::ip::tcp;
using Socket = beast::websocket::stream<tcp::socket>;

static bool alike;

// A listening socket, made before the fork, so that both processes know its port.
static tcp::endpoint listen_at(int& descriptor) {
  sockaddr_in place{};
  socklen_t size = sizeof place;
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  descriptor = socket(AF_INET, SOCK_STREAM, 0);
  require(bind(descriptor, (sockaddr*)&place, size) == 0 && listen(descriptor, 8) == 0, "listen");
  require(getsockname(descriptor, (sockaddr*)&place, &size) == 0, "read the port");
  return {net::ip::address_v4::loopback(), ntohs(place.sin_port)};
}

static void set_options(Socket& socket) {
  socket.next_layer().set_option(tcp::no_delay(true));
  socket.binary(true);
  socket.read_message_max(frame_bytes);
}

static Socket accept(net::io_context& context, int descriptor) {
  Socket socket(tcp::acceptor(context, tcp::v4(), descriptor).accept());
  set_options(socket);
  socket.accept();
  return socket;
}

static Socket connect(net::io_context& context, const tcp::endpoint& place) {
  Socket socket(context);
  socket.next_layer().connect(place);
  set_options(socket);
  socket.handshake("localhost", "/");
  return socket;
}

// Reads a message and returns its size, or 0 if the other process has disconnected.
static size_t receive(net::io_context& context, Socket& socket, beast::flat_buffer& message) {
  message.clear();
  beast::error_code failure;
  if (!alike) {
    socket.read(message, failure);
  } else {
    bool done = false;
    socket.async_read(message, [&](beast::error_code code, size_t) { failure = code, done = true; });
    context.restart();
    while (!done) context.run_one_for(std::chrono::milliseconds(100));
  }
  return failure ? 0 : message.size();
}

static int relay(int listener, const tcp::endpoint& sender) {
  net::io_context context{1};
  auto there = connect(context, sender);
  auto back = accept(context, listener);
  beast::flat_buffer message;
  while (const size_t bytes = receive(context, there, message)) {
    const int64_t arrived = now_ns();
    const head of = head_of(message.data().data(), bytes);
    back.write(message.data());
    note(of.number, arrived);
  }
  return 0;
}

static void ask(int listener, const tcp::endpoint& relay) {
  net::io_context context{1};
  auto there = accept(context, listener);
  auto back = connect(context, relay);
  beast::flat_buffer message;
  std::string frame(frame_bytes, '\0');
  for (size_t round = 0; round < rounds; round++) {
    write_head(frame.data(), (int64_t)round);
    there.write(net::buffer(frame));
    const size_t bytes = receive(context, back, message);
    const int64_t arrived = now_ns();
    const head of = head_of(message.data().data(), bytes);
    require(bytes == frame_bytes && of.number == (int64_t)round, "get the message back");
    took[round] = arrived - of.sent;
    note(of.number, arrived);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without WAY BYTES ROUNDS CORES");
  alike = std::string_view(words[1]) == "alike";
  prepare(words + 2);
  int mine, others;
  const auto here = listen_at(mine), there = listen_at(others);
  const pid_t other = other_process();
  if (other == 0) return relay(others, here);
  ask(mine, there);
  waitpid(other, nullptr, 0);
  tell_median();
  return 0;
}
