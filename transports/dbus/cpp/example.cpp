// Sends messages with D-Bus through its broker: start `example receive`, then `example send` in a second terminal.
// For calls, start `example serve`, then `example call`.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lsystemd
#include <systemd/sd-bus.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
const std::string ADDRESS = "unix:path=/run/user/1000/bus";  // see `echo $DBUS_SESSION_BUS_ADDRESS`
const std::string PATH = "/org/example/" + TOPIC;
constexpr const char* INTERFACE = "org.example.Link";
constexpr const char* SERVER = "org.example.Server";
constexpr std::uint64_t PATIENCE_US = 10'000'000;

int require(int result, const char* doing) {
  if (result >= 0) return result;
  std::fprintf(stderr, "%s: %s\n", doing, std::strerror(-result));
  std::exit(1);
}

sd_bus* connect_to_bus() {
  sd_bus* bus = nullptr;
  require(sd_bus_new(&bus), "make a connection");
  require(sd_bus_set_address(bus, ADDRESS.c_str()), "set the address");
  require(sd_bus_set_bus_client(bus, true), "use a broker");
  require(sd_bus_start(bus), "connect");
  return bus;
}

void append_payload(sd_bus_message* message) {
  void* payload = nullptr;
  require(sd_bus_message_append_array_space(message, 'y', PAYLOAD_BYTES, &payload), "add the payload");
  std::memset(payload, 0, PAYLOAD_BYTES);
}

bool has_payload(sd_bus_message* message) {
  const void* payload = nullptr;
  std::size_t bytes = 0;
  return sd_bus_message_read_array(message, 'y', &payload, &bytes) > 0 && bytes == PAYLOAD_BYTES;
}

// Processes messages until the handlers have increased `count` to COUNT, or until no message arrives for PATIENCE_US.
void process_until(sd_bus* bus, const int& count) {
  while (count < COUNT) {
    const int handled = require(sd_bus_process(bus, nullptr), "process messages");
    if (handled == 0 && require(sd_bus_wait(bus, PATIENCE_US), "wait") == 0) break;
  }
}

void send(sd_bus* bus) {
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    sd_bus_message* message = nullptr;
    require(sd_bus_message_new_signal(bus, &message, PATH.c_str(), INTERFACE, "Frame"), "make a signal");
    append_payload(message);
    require(sd_bus_send(bus, message, nullptr), "send");
    require(sd_bus_flush(bus), "send");
    sd_bus_message_unref(message);
  }
  std::printf("sent %d messages\n", COUNT);
}

void receive(sd_bus* bus) {
  int count = 0;
  const auto take = [](sd_bus_message* message, void* counted, sd_bus_error*) {
    *static_cast<int*>(counted) += has_payload(message);
    return 0;
  };
  const auto rule = "type='signal',interface='" + std::string(INTERFACE) + "',path='" + PATH + "'";
  require(sd_bus_add_match(bus, nullptr, rule.c_str(), take, &count), "subscribe");
  std::puts("ready");
  std::fflush(stdout);
  process_until(bus, count);
  std::printf("received %d messages\n", count);
}

void call(sd_bus* bus) {
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    sd_bus_message *request = nullptr, *reply = nullptr;
    require(sd_bus_message_new_method_call(bus, &request, SERVER, PATH.c_str(), INTERFACE, "Call"), "make a request");
    append_payload(request);
    require(sd_bus_call(bus, request, PATIENCE_US, nullptr, &reply), "call");
    count += has_payload(reply);
    sd_bus_message_unref(request);
    sd_bus_message_unref(reply);
  }
  std::printf("received %d replies\n", count);
}

void serve(sd_bus* bus) {
  int count = 0;
  // The server echoes the request as the reply.
  const auto answer = [](sd_bus_message* request, void* counted, sd_bus_error*) {
    sd_bus_message* reply = nullptr;
    require(sd_bus_message_new_method_return(request, &reply), "make a reply");
    require(sd_bus_message_copy(reply, request, true), "write a reply");
    require(sd_bus_send(nullptr, reply, nullptr), "reply");
    sd_bus_message_unref(reply);
    ++*static_cast<int*>(counted);
    return 1;
  };
  require(sd_bus_add_object(bus, nullptr, PATH.c_str(), answer, &count), "add an object");
  require(sd_bus_request_name(bus, SERVER, 0), "request a name");
  std::puts("ready");
  std::fflush(stdout);
  process_until(bus, count);
  std::printf("answered %d calls\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  sd_bus* bus = connect_to_bus();
  if (side == "call") call(bus);
  if (side == "serve") serve(bus);
  if (side == "send") send(bus);
  if (side == "receive") receive(bus);
  sd_bus_flush_close_unref(bus);
}
