// A baseline with Cap'n Proto RPC alone: a client calls a capability over TCP, and the server answers with a copy. The
// program uses the interfaces of transports/capnproto. `capnproto PORT BYTES ROUNDS CORES plain|alike` prints the
// median round trip in ns. CORES is `A` or `A,B`, as in bare.h. `plain` calls from the thread of the event loop.
// `alike` does the same work as a node: the main thread makes its calls through the executor of an event loop on a
// second thread, and each process takes two timestamps per message.
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "bare.h"
#include "hopmeter.capnp.h"

static bool alike;

static capnp::Data::Reader data_of(const char* bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes), frame_bytes};
}

struct Answering final : Service::Server {
  kj::Promise<void> call(CallContext context) override {
    const int64_t arrived = alike ? now_ns() : 0;
    auto request = context.getParams().getRequest();
    require(request.size() == frame_bytes, "use a message of another size");
    context.getResults().setReply(request);
    if (alike) note(head_of(request.begin(), request.size()).number, arrived);
    return kj::READY_NOW;
  }
};

static int serve(kj::uint port) {
  auto io = kj::setupAsyncIo();
  auto address = io.provider->getNetwork().parseAddress("127.0.0.1", port).wait(io.waitScope);
  auto listener = address->listen();
  capnp::TwoPartyServer server(kj::heap<Answering>());
  server.listen(*listener).wait(io.waitScope);
  return 0;
}

// Connects as soon as the server listens.
static kj::Own<kj::AsyncIoStream> connect(kj::AsyncIoContext& io, kj::uint port) {
  auto address = io.provider->getNetwork().parseAddress("127.0.0.1", port).wait(io.waitScope);
  for (int tries = 0;; tries++) {
    try {
      return address->connect().wait(io.waitScope);
    } catch (const kj::Exception&) {
      require(tries < 1000, "connect");
      usleep(1000);
    }
  }
}

// Measures round trips; `call(request, reply)` makes a call and copies its reply.
template <class Call>
static void measure(const Call& call) {
  std::vector<char> request(frame_bytes, 'p'), reply(frame_bytes);
  for (size_t round = 0; round < rounds; round++) {
    write_head(request.data(), static_cast<int64_t>(round));
    call(request.data(), reply.data());
    const int64_t arrived = now_ns();
    const auto found = head_of(reply.data(), frame_bytes);
    require(found.number == static_cast<int64_t>(round), "use the reply to another request");
    took[round] = arrived - found.sent;
    if (alike) note(found.number, arrived);
  }
}

static kj::Promise<void> ask(Service::Client& service, const char* from, char* to) {
  auto request = service.callRequest();
  request.setRequest(data_of(from));
  return request.send().then([to](auto&& response) {
    auto reply = response.getReply();
    require(reply.size() == frame_bytes, "use a reply of another size");
    memcpy(to, reply.begin(), reply.size());
  });
}

static void measure_plain(kj::uint port) {
  auto io = kj::setupAsyncIo();
  auto stream = connect(io, port);
  capnp::TwoPartyClient client(*stream);
  auto service = client.bootstrap().castAs<Service>();
  measure([&](const char* from, char* to) { ask(service, from, to).wait(io.waitScope); });
}

static void measure_alike(kj::uint port) {
  struct Shared {
    const kj::Executor& executor;
    Service::Client& service;
    kj::PromiseFulfiller<void>& stop;
  };
  std::promise<Shared> started;
  std::thread loop([&] {
    auto io = kj::setupAsyncIo();
    auto stream = connect(io, port);
    capnp::TwoPartyClient client(*stream);
    auto service = client.bootstrap().castAs<Service>();
    auto stop = kj::newPromiseAndFulfiller<void>();
    started.set_value({kj::getCurrentThreadExecutor(), service, *stop.fulfiller});
    stop.promise.wait(io.waitScope);
  });
  const Shared shared = started.get_future().get();
  measure(
      [&](const char* from, char* to) { shared.executor.executeSync([&] { return ask(shared.service, from, to); }); });
  shared.executor.executeSync([&] { shared.stop.fulfill(); });
  loop.join();
}

int main(int count, char** words) {
  require(count == 6, "start without PORT BYTES ROUNDS CORES plain|alike");
  alike = strcmp(words[5], "alike") == 0;
  const auto port = static_cast<kj::uint>(atoi(words[1]));
  prepare(words + 2);
  const pid_t server = other_process();
  if (server == 0) return serve(port);
  alike ? measure_alike(port) : measure_plain(port);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  tell_median();
  return 0;
}
