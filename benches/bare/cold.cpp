// Sends messages at a steady rate without any messaging library. `cold call|unix|shm BYTES RATE_HZ MESSAGES CORES`
// prints the median time from stamp to arrival in nanoseconds. The receiver is a callback on the sender's thread, or a
// process that sleeps on a Unix stream or on a futex in shared memory.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <atomic>
#include <functional>

#include "cold.hpp"

namespace {

int call(Schedule& schedule) {
  std::vector<unsigned char> frame(sizeof(Header) + schedule.bytes);
  const std::function<void(const unsigned char*)> on_frame = [&](const unsigned char* bytes) {
    const auto arrived_ns = now_ns();
    Header header;
    std::memcpy(&header, bytes, sizeof header);
    schedule.record(header.sent_ns, arrived_ns);
  };
  schedule.run([&](std::int64_t seq, auto&& write) {
    Header header{seq, 0, {}};
    write(frame.data() + sizeof header);
    header.sent_ns = now_ns();
    std::memcpy(frame.data(), &header, sizeof header);
    on_frame(frame.data());
  });
  return schedule.tell();
}

// Forks a receiver, which calls `receive` for every message and finally prints the median; this process sends.
template <class Receive, class Send>
int apart(Schedule& schedule, Receive&& receive, Send&& send) {
  const pid_t pid = other_process();
  if (pid == 0) {
    for (std::int64_t seq = 0; seq < schedule.messages; ++seq) {
      const std::int64_t sent_ns = receive(seq);
      schedule.record(sent_ns, now_ns());
    }
    const int code = schedule.tell();
    std::fflush(stdout);
    _exit(code);
  }
  schedule.run(send);
  int status = 0;
  require(waitpid(pid, &status, 0) == pid && status == 0, "have the receiver end well");
  return 0;
}

int over_unix(Schedule& schedule) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "open sockets");
  std::vector<unsigned char> frame(sizeof(Header) + schedule.bytes);
  const auto whole = [&](auto act, int end) {
    for (std::size_t at = 0; at < frame.size();) {
      const ssize_t moved = act(end, frame.data() + at, frame.size() - at);
      require(moved > 0, "move bytes");
      at += static_cast<std::size_t>(moved);
    }
  };
  return apart(
      schedule,
      [&](std::int64_t) {
        whole([](int end, unsigned char* to, std::size_t bytes) { return read(end, to, bytes); }, ends[1]);
        return reinterpret_cast<const Header*>(frame.data())->sent_ns;
      },
      [&](std::int64_t seq, auto&& write_payload) {
        write_payload(frame.data() + sizeof(Header));
        *reinterpret_cast<Header*>(frame.data()) = {seq, now_ns(), {}};
        whole([](int end, unsigned char* from, std::size_t bytes) { return write(end, from, bytes); }, ends[0]);
      });
}

struct Shared {
  std::atomic<std::uint32_t> count;
  alignas(64) unsigned char frame[];
};

int over_memory(Schedule& schedule) {
  const std::size_t length = sizeof(Shared) + 64 + sizeof(Header) + schedule.bytes;
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "share memory");
  auto* shared = new (memory) Shared;
  const auto futex = [&](int what, std::uint32_t value) {
    syscall(SYS_futex, &shared->count, what, value, nullptr, nullptr, 0);
  };
  return apart(
      schedule,
      [&](std::int64_t seq) {
        const auto before = static_cast<std::uint32_t>(seq);
        while (shared->count.load(std::memory_order_acquire) == before) futex(FUTEX_WAIT, before);
        return reinterpret_cast<const Header*>(shared->frame)->sent_ns;
      },
      [&](std::int64_t seq, auto&& write) {
        write(shared->frame + sizeof(Header));
        *reinterpret_cast<Header*>(shared->frame) = {seq, now_ns(), {}};
        shared->count.fetch_add(1, std::memory_order_release);
        futex(FUTEX_WAKE, 1);
      });
}

}  // namespace

int main(int count, char** words) {
  require(count == 6, "go on: cold call|unix|shm BYTES RATE_HZ MESSAGES CORES");
  pin(words[5]);
  Schedule schedule(words + 2);
  const std::string way = words[1];
  if (way == "call") return call(schedule);
  return way == "unix" ? over_unix(schedule) : over_memory(schedule);
}
