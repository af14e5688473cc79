// Sends messages over a WebSocket with Boost.Beast: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace beast = boost::beast;
namespace websocket = beast::websocket;
namespace net = boost::asio;
using net::ip::tcp;
using Socket = websocket::stream<tcp::socket>;

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:8765";
const std::string COMPRESSION = "off";  // or deflate
constexpr std::size_t WRITE_BUFFER = 4096;
constexpr bool AUTO_FRAGMENT = false;

net::io_context context;

tcp::endpoint endpoint() {
  const auto colon = ADDRESS.rfind(':');
  return {net::ip::make_address(ADDRESS.substr(0, colon)),
          static_cast<unsigned short>(std::stoi(ADDRESS.substr(colon + 1)))};
}

void set_options(Socket& socket) {
  socket.next_layer().set_option(tcp::no_delay(true));
  socket.binary(true);
  socket.read_message_max(0);  // any size
  socket.write_buffer_bytes(WRITE_BUFFER);
  socket.auto_fragment(AUTO_FRAGMENT);
  websocket::permessage_deflate deflate;
  deflate.client_enable = deflate.server_enable = COMPRESSION == "deflate";
  socket.set_option(deflate);
}

Socket connect() {
  Socket socket(context);
  socket.next_layer().connect(endpoint());
  set_options(socket);
  socket.handshake(ADDRESS, "/" + TOPIC);
  return socket;
}

// Closes the WebSocket, and waits until the peer has received all messages and has also closed the WebSocket.
void close(Socket& socket) {
  beast::error_code ignored;
  socket.close(websocket::close_code::normal, ignored);
}

void wait_until_due(std::chrono::steady_clock::time_point begin, int number) {
  std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
}

void send() {
  auto socket = connect();
  const std::string payload(PAYLOAD_BYTES, '\0');
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    wait_until_due(begin, number);
    socket.write(net::buffer(payload));
  }
  close(socket);
  std::printf("sent %d messages\n", COUNT);
}

// Counts the messages that arrive until the peer closes. With `answers`, returns each message as its reply.
int run_server(bool answers) {
  tcp::acceptor acceptor(context, endpoint());
  std::puts("ready");
  std::fflush(stdout);
  Socket socket(acceptor.accept());
  set_options(socket);
  socket.accept();
  beast::flat_buffer message;
  beast::error_code failure;
  int count = 0;
  while (socket.read(message, failure), !failure) {
    count += message.size() == PAYLOAD_BYTES;
    if (answers) socket.write(message.data());
    message.clear();
  }
  return count;
}

void call() {
  auto socket = connect();
  const std::string request(PAYLOAD_BYTES, '\0');
  beast::flat_buffer reply;
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    wait_until_due(begin, number);
    socket.write(net::buffer(request));
    socket.read(reply);
    count += reply.size() == PAYLOAD_BYTES;
    reply.clear();
  }
  close(socket);
  std::printf("received %d replies\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "send") send();
  if (side == "receive") std::printf("received %d messages\n", run_server(false));
  if (side == "call") call();
  if (side == "serve") std::printf("answered %d calls\n", run_server(true));
}
