// Sends messages with Cap'n Proto RPC: start `example receive`, then `example send` in a second terminal. The sender
// calls the receiver for each message, with flow control. For calls with replies, start `example serve`, then `example
// call`.
// Build: capnp compile -oc++ example.capnp
// Build: c++ -std=c++20 -O2 example.cpp example.capnp.c++ -o example $(pkg-config --cflags --libs capnp-rpc)
#include <capnp/ez-rpc.h>
#include <kj/async-io.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "example.capnp.h"

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string ADDRESS = "127.0.0.1:4000";
constexpr int PATIENCE_S = 10;
constexpr std::int64_t PERIOD_NS = static_cast<std::int64_t>(1e9 / RATE_HZ);

// By default, a receiver rejects messages of more than 64 MiB (8 Mi words).
capnp::ReaderOptions options() { return {.traversalLimitInWords = UINT64_MAX}; }

class Server final : public Example::Server {
 public:
  explicit Server(kj::Own<kj::PromiseFulfiller<void>> done) : done_(kj::mv(done)) {}
  int count = 0;

  kj::Promise<void> deliver(DeliverContext context) override {
    count += context.getParams().getData().size() == PAYLOAD_BYTES;
    return kj::READY_NOW;
  }
  kj::Promise<void> call(CallContext context) override {
    context.getResults().setReply(context.getParams().getRequest());  // echoes the request as the reply
    ++count;
    return kj::READY_NOW;
  }
  kj::Promise<void> end(EndContext) override {
    done_->fulfill();
    return kj::READY_NOW;
  }

 private:
  kj::Own<kj::PromiseFulfiller<void>> done_;
};

void run_server(const char* outcome) {
  auto done = kj::newPromiseAndFulfiller<void>();
  auto owned = kj::heap<Server>(kj::mv(done.fulfiller));
  Server& server = *owned;
  capnp::EzRpcServer listener(kj::mv(owned), ADDRESS, 0, options());
  auto& timer = listener.getIoProvider().getTimer();
  auto& scope = listener.getWaitScope();
  listener.getPort().wait(scope);  // waits until the server listens
  std::puts("ready");
  std::fflush(stdout);
  const auto limit = PATIENCE_S * kj::SECONDS + COUNT * PERIOD_NS * kj::NANOSECONDS;
  done.promise.exclusiveJoin(timer.afterDelay(limit)).wait(scope);
  timer.afterDelay(100 * kj::MILLISECONDS).wait(scope);  // sends the last reply
  std::printf(outcome, server.count);
}

// Calls `act(client, payload, scope)` at each due time.
template <class Act>
void run_client(const Act& act) {
  capnp::EzRpcClient connection(ADDRESS, 0, options());
  auto client = connection.getMain<Example>();
  auto& timer = connection.getIoProvider().getTimer();
  auto& scope = connection.getWaitScope();
  const std::vector<kj::byte> bytes(PAYLOAD_BYTES);
  const capnp::Data::Reader payload(bytes.data(), bytes.size());
  const auto begin = timer.now();
  for (int number = 0; number < COUNT; ++number) {
    timer.atTime(begin + number * PERIOD_NS * kj::NANOSECONDS).wait(scope);
    act(client, payload, scope);
  }
  client.endRequest().send().wait(scope);
}

void send() {
  run_client([](Example::Client& client, capnp::Data::Reader payload, kj::WaitScope& scope) {
    auto request = client.deliverRequest();
    request.setData(payload);
    request.send().wait(scope);  // waits if too many bytes are on the way
  });
  std::printf("sent %d messages\n", COUNT);
}

void call() {
  int count = 0;
  run_client([&](Example::Client& client, capnp::Data::Reader payload, kj::WaitScope& scope) {
    auto request = client.callRequest();
    request.setRequest(payload);
    count += request.send().wait(scope).getReply().size() == PAYLOAD_BYTES;
  });
  std::printf("received %d replies\n", count);
}

int main(int words, char** word) {
  const std::string side = words > 1 ? word[1] : "receive";
  if (side == "send") send();
  if (side == "receive") run_server("received %d messages\n");
  if (side == "call") call();
  if (side == "serve") run_server("answered %d calls\n");
}
