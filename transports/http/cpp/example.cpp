// Makes calls over HTTP with cpp-httplib: start `example serve`, then `example call` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example $(pkg-config --cflags --libs cpp-httplib)
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "127.0.0.1:8080";
constexpr bool KEEP_ALIVE = true;
constexpr std::size_t REQUESTS_PER_CONNECTION = 5;
constexpr int PATIENCE_S = 10;
const std::string OCTETS = "application/octet-stream";

void call() {
  httplib::Client client("http://" + ADDRESS);
  client.set_keep_alive(KEEP_ALIVE);
  client.set_read_timeout(PATIENCE_S);
  const std::string request(PAYLOAD_BYTES, '\0');
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    const auto reply = client.Post("/" + TOPIC, request, OCTETS);
    count += reply && reply->status == 200 && reply->body.size() == PAYLOAD_BYTES;
  }
  std::printf("received %d replies\n", count);
}

void serve() {
  httplib::Server server;
  server.set_keep_alive_max_count(REQUESTS_PER_CONNECTION);
  // By default, the library sets SO_REUSEPORT, with which a port stays unusable for a minute after another server.
  server.set_socket_options([](auto socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  std::atomic<int> count = 0;
  server.Post("/" + TOPIC, [&](const httplib::Request& request, httplib::Response& response) {
    response.set_content(request.body, OCTETS);
    if (request.body.size() == PAYLOAD_BYTES && ++count == COUNT) server.stop();  // stops after this reply
  });
  const auto colon = ADDRESS.rfind(':');
  if (!server.bind_to_port(ADDRESS.substr(0, colon), std::stoi(ADDRESS.substr(colon + 1)))) {
    std::fprintf(stderr, "cannot listen at %s\n", ADDRESS.c_str());
    std::exit(1);
  }
  std::puts("ready");
  std::fflush(stdout);
  server.listen_after_bind();
  std::printf("answered %d calls\n", count.load());
}

int main(int words, char** word) { words > 1 && std::string(word[1]) == "call" ? call() : serve(); }
