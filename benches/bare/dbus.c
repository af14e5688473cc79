// A baseline with sd-bus alone: one process calls a method through dbus-daemon, and the other process answers each call
// with a copy of the byte array. `dbus ADDRESS BYTES ROUNDS CORES` prints the median round trip in ns. CORES is `A` or
// `A,B`, as in bare.h.
#define _GNU_SOURCE
#include <systemd/sd-bus.h>

#include "bare.h"

static const uint64_t forever = UINT64_MAX;

static sd_bus* connect_to_broker(const char* address) {
  sd_bus* bus;
  require(sd_bus_new(&bus) >= 0, "make a connection");
  sd_bus_set_address(bus, address);
  sd_bus_set_bus_client(bus, 1);
  require(sd_bus_start(bus) >= 0, "connect to dbus-daemon");
  const char* unique_name;
  require(sd_bus_get_unique_name(bus, &unique_name) >= 0, "get a name");
  return bus;
}

// Waits for the next message of the given type.
static sd_bus_message* next_message(sd_bus* bus, uint8_t type) {
  for (;;) {
    sd_bus_message* message = NULL;
    uint8_t found = 0;
    const int handled = sd_bus_process(bus, &message);
    require(handled >= 0, "receive");
    if (message && sd_bus_message_get_type(message, &found) >= 0 && found == type) return message;
    sd_bus_message_unref(message);
    if (handled == 0) require(sd_bus_wait(bus, forever) >= 0, "wait");
  }
}

static void* make_space(sd_bus_message* message) {
  void* space;
  require(sd_bus_message_append_array_space(message, 'y', frame_bytes, &space) >= 0, "make space");
  return space;
}

static const void* frame_of(sd_bus_message* message) {
  const void* frame;
  size_t bytes;
  require(sd_bus_message_read_array(message, 'y', &frame, &bytes) > 0 && bytes == frame_bytes, "read a frame");
  return frame;
}

// A request needs a cookie: if the cookie is NULL, sd-bus does not request a reply.
static void send_message(sd_bus* bus, sd_bus_message* message, uint64_t* cookie) {
  require(sd_bus_send(bus, message, cookie) >= 0 && sd_bus_flush(bus) >= 0, "send");
  sd_bus_message_unref(message);
}

static int serve(const char* address, int ready) {
  sd_bus* bus = connect_to_broker(address);
  require(sd_bus_request_name(bus, "org.example.Bench", 0) >= 0, "request a name");
  require(write(ready, "!", 1) == 1, "say that the server is ready");
  for (size_t round = 0; round < rounds; round++) {
    sd_bus_message* request = next_message(bus, SD_BUS_MESSAGE_METHOD_CALL);
    const int64_t arrived = now_ns();
    const void* frame = frame_of(request);
    const head of = head_of(frame, frame_bytes);
    sd_bus_message* reply;
    require(sd_bus_message_new_method_return(request, &reply) >= 0, "make a reply");
    memcpy(make_space(reply), frame, frame_bytes);
    send_message(bus, reply, NULL);
    note(of.number, arrived);
    sd_bus_message_unref(request);
  }
  return 0;
}

static void call(sd_bus* bus) {
  char* payload = malloc(frame_bytes);
  memset(payload, 1, frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    sd_bus_message* request;
    require(
        sd_bus_message_new_method_call(bus, &request, "org.example.Bench", "/bench", "org.example.Bench", "Call") >= 0,
        "make a request");
    void* frame = make_space(request);
    memcpy(frame, payload, frame_bytes);
    write_head(frame, (int64_t)round);
    uint64_t cookie;
    send_message(bus, request, &cookie);
    sd_bus_message* reply = next_message(bus, SD_BUS_MESSAGE_METHOD_RETURN);
    const int64_t arrived = now_ns();
    const head of = head_of(frame_of(reply), frame_bytes);
    require(of.number == (int64_t)round, "get the reply to the request");
    took[round] = arrived - of.sent;
    note(of.number, arrived);
    sd_bus_message_unref(reply);
  }
}

int main(int count, char** words) {
  require(count == 5, "start without ADDRESS BYTES ROUNDS CORES");
  prepare(words + 2);
  int ready[2];
  char word;
  require(pipe(ready) == 0, "make a pipe");
  const pid_t server = other_process();
  if (server == 0) return serve(words[1], ready[1]);
  sd_bus* bus = connect_to_broker(words[1]);
  require(read(ready[0], &word, 1) == 1, "hear that the server is ready");
  call(bus);
  waitpid(server, NULL, 0);
  tell_median();
  return 0;
}
