// Helpers for programs that send at a steady rate: a schedule, and the median transit time. As in hopmeter, a frame of
// 16 KiB or more is written before its due time, and a smaller frame is written when it is due.
#pragma once
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bare.h"

struct Header {
  std::int64_t seq, sent_ns, rest[6];
};

struct Schedule {
  std::size_t bytes;
  std::int64_t period_ns, messages;
  std::vector<std::int64_t> took_ns{};
  std::int64_t start_ns = 0;
  // The source from which every payload is copied, such as a camera's memory.
  std::vector<unsigned char> picture;

  Schedule(char** words)
      : bytes(std::strtoull(words[0], nullptr, 10)),
        period_ns(1'000'000'000 / std::atoll(words[1])),
        messages(std::atoll(words[2])),
        picture(bytes, 7) {
    took_ns.reserve(messages);
    prctl(PR_SET_TIMERSLACK, 1UL);
  }

  bool is_early() const { return bytes >= 16 << 10; }

  // Calls `send` for every message of the schedule. `send` calls `write` to write the payload, and then reads the send
  // time; `write` returns when the message is due.
  template <class Send>
  void run(Send&& send) {
    start_ns = now_ns() + 100'000'000;
    std::int64_t lead_ns = is_early() ? 5'000'000 : 0;
    for (std::int64_t seq = 0; seq < messages; ++seq) {
      const auto due_ns = start_ns + seq * period_ns;
      sleep_until(due_ns - lead_ns - 60'000);
      if (!is_early()) spin_until(due_ns);
      const auto begun_ns = now_ns();
      send(seq, [&](unsigned char* payload) {
        std::memcpy(payload, picture.data(), bytes);
        if (is_early()) {
          lead_ns = (now_ns() - begun_ns) * 5 / 4 + 30'000;
          spin_until(due_ns);
        }
      });
    }
  }

  void record(std::int64_t sent_ns, std::int64_t arrived_ns) {
    if (took_ns.size() < took_ns.capacity()) took_ns.push_back(arrived_ns - sent_ns);
  }

  // Prints the median transit time in nanoseconds, excluding the first tenth of the messages.
  int tell() {
    took_ns.erase(took_ns.begin(), took_ns.begin() + took_ns.size() / 10);
    require(!took_ns.empty(), "measure anything");
    std::nth_element(took_ns.begin(), took_ns.begin() + took_ns.size() / 2, took_ns.end());
    std::printf("%lld\n", static_cast<long long>(took_ns[took_ns.size() / 2]));
    return 0;
  }

 private:
  static void sleep_until(std::int64_t time_ns) {
    const timespec until{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  static void spin_until(std::int64_t time_ns) {
    while (now_ns() < time_ns) {
    }
  }
};
