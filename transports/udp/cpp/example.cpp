// Sends messages as UDP datagrams: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// UDP confirms nothing: a datagram that finds the receive buffer full is lost.
// Build: c++ -std=c++20 -O2 example.cpp -o example
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

constexpr long PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string ADDRESS = "127.0.0.1:9000";
constexpr int SEND_BUFFER = 0;  // bytes; 0 keeps the system's default
constexpr int RECEIVE_BUFFER = 0;
constexpr int PATIENCE_S = 10;
constexpr std::size_t LARGEST = 65536;

long require(long result, const char* doing) {
  if (result >= 0) return result;
  std::perror(doing);
  std::exit(1);
}

sockaddr_in endpoint() {
  const auto colon = ADDRESS.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::inet_addr(ADDRESS.substr(0, colon).c_str());
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(ADDRESS.substr(colon + 1))));
  return address;
}

template <class Value>
void set(int made, int option, const Value& value) {
  require(::setsockopt(made, SOL_SOCKET, option, &value, sizeof value), "set an option");
}

int datagram_socket() {
  const int made = static_cast<int>(require(::socket(AF_INET, SOCK_DGRAM, 0), "create a socket"));
  set(made, SO_RCVTIMEO, timeval{PATIENCE_S, 0});
  if (SEND_BUFFER > 0) set(made, SO_SNDBUF, SEND_BUFFER);
  if (RECEIVE_BUFFER > 0) set(made, SO_RCVBUF, RECEIVE_BUFFER);
  return made;
}

int bound_socket() {
  const int made = datagram_socket();
  const sockaddr_in address = endpoint();
  require(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  std::puts("ready");
  std::fflush(stdout);
  return made;
}

// Sends messages, and with `calls` waits for the reply to each. Returns the number of replies.
int send(bool calls) {
  std::vector<char> payload(PAYLOAD_BYTES), reply(LARGEST);
  const int made = datagram_socket();
  const sockaddr_in address = endpoint();
  // A connected socket discards datagrams of other senders.
  require(::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(::send(made, payload.data(), payload.size(), 0), "send");
    if (calls) count += require(::recv(made, reply.data(), reply.size(), 0), "wait for a reply") == PAYLOAD_BYTES;
  }
  ::close(made);
  return count;
}

// Counts the messages that arrive. With `answers`, returns each message as its reply.
int receive(bool answers) {
  std::vector<char> message(LARGEST);
  const int made = bound_socket();
  int count = 0;
  while (count < COUNT) {
    sockaddr_in sender{};
    socklen_t size = sizeof sender;
    auto* const from = reinterpret_cast<sockaddr*>(&sender);
    const auto length = ::recvfrom(made, message.data(), message.size(), 0, from, &size);
    if (length < 0) break;
    count += length == PAYLOAD_BYTES;
    if (answers) require(::sendto(made, message.data(), static_cast<std::size_t>(length), 0, from, size), "reply");
  }
  ::close(made);
  return count;
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "call") std::printf("received %d replies\n", send(true));
  if (side == "serve") std::printf("answered %d calls\n", receive(true));
  if (side == "receive") std::printf("received %d messages\n", receive(false));
  if (side == "send") {
    send(false);
    std::printf("sent %d messages\n", COUNT);
  }
}
