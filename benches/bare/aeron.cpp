// A baseline with Aeron's C++ client alone: a second process copies each message from one stream to another.
// `aeron FOLDER spin|block BYTES ROUNDS CORES` prints the median round trip in ns. FOLDER is the folder of the media
// driver; CORES is `A` or `A,B`, as in bare.h.
#include <Aeron.h>
#include <FragmentAssembler.h>
#include <concurrent/BackOffIdleStrategy.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rounds.hpp"

namespace {

using aeron::concurrent::AtomicBuffer;
constexpr int there = 1, back = 2, fragments_per_poll = 10;

auto await(auto&& find) {
  auto found = find();
  for (; !found; found = find()) usleep(1000);
  return found;
}

struct End {
  std::shared_ptr<aeron::Aeron> client;
  std::shared_ptr<aeron::ExclusivePublication> out;
  std::shared_ptr<aeron::Subscription> in;
  std::optional<aeron::concurrent::BackoffIdleStrategy> idle;
  std::vector<uint8_t> draft = std::vector<uint8_t>(frame_bytes);

  End(const char* folder, int to, int from, bool blocks) {
    aeron::Context context;
    context.aeronDir(folder);
    client = aeron::Aeron::connect(context);
    const auto publication = client->addExclusivePublication("aeron:ipc", to);
    out = await([&] { return client->findExclusivePublication(publication); });
    const auto subscription = client->addSubscription("aeron:ipc", from);
    in = await([&] { return client->findSubscription(subscription); });
    if (blocks) idle.emplace();
  }

  // Sends a message. Writes the message directly into the log buffer if it fits into one fragment. Waits while Aeron
  // rejects messages.
  void send(auto&& write) {
    aeron::concurrent::logbuffer::BufferClaim claim;
    if (frame_bytes <= static_cast<size_t>(out->maxPayloadLength())) {
      while (out->tryClaim(static_cast<int>(frame_bytes), claim) < 0) require(tries++ < 10'000'000, "claim a message");
      write(claim.buffer().buffer() + claim.offset());
      claim.commit();
    } else {
      write(draft.data());
      const AtomicBuffer buffer(draft.data(), draft.size());
      while (out->offer(buffer) < 0) require(tries++ < 10'000'000, "offer a message");
    }
    tries = 0;
  }

  // Polls once. If this end blocks, calls Aeron's idle strategy.
  void receive(auto& assemble) {
    const int fragments = in->poll(assemble, fragments_per_poll);
    if (idle) idle->idle(fragments);
  }

 private:
  int tries = 0;
};

// Relays messages until one is marked as the last.
int relay(const char* folder, bool blocks) {
  End end(folder, back, there, blocks);
  bool ended = false;
  aeron::FragmentAssembler assembler([&](AtomicBuffer& buffer, auto offset, auto, auto&) {
    const int64_t arrived = now_ns();
    const uint8_t* came = buffer.buffer() + offset;
    const head of = head_of(came, frame_bytes);
    ended = of.number < 0;
    if (!ended) end.send([&](uint8_t* frame) { memcpy(frame, came, frame_bytes); });
    note(of.number, arrived);
  });
  auto assemble = assembler.handler();
  while (!ended) end.receive(assemble);
  return 0;
}

void ask(const char* folder, bool blocks) {
  End end(folder, there, back, blocks);
  int64_t number = 0, lasted = 0;
  aeron::FragmentAssembler assembler([&](AtomicBuffer& buffer, auto offset, auto, auto&) {
    const int64_t arrived = now_ns();
    const head of = head_of(buffer.buffer() + offset, frame_bytes);
    if (of.number == number) lasted = arrived - of.sent;
    note(of.number, arrived);
  });
  auto assemble = assembler.handler();
  measure([&](int looks) {
    lasted = 0;
    end.send([&](uint8_t* frame) { write_head(frame, ++number); });
    const int64_t until = now_ns() + looks * LOOK_MS * 1000000LL;
    while (lasted == 0 && now_ns() < until) end.receive(assemble);
    return lasted;
  });
  end.send([](uint8_t* frame) { write_head(frame, -1); });
}

}  // namespace

int main(int count, char** words) {
  require(count == 6, "start without FOLDER spin|block BYTES ROUNDS CORES");
  const bool blocks = std::string(words[2]) == "block";
  prepare(words + 3);
  const pid_t other = other_process();
  if (other == 0) return relay(words[1], blocks);
  ask(words[1], blocks);
  waitpid(other, nullptr, 0);
  tell_median();
}
