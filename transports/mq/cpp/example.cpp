// Sends messages with a POSIX message queue: start `example receive`, then `example send` in a second terminal.
// Build: c++ -std=c++20 -O2 example.cpp -o example -lrt
#include <fcntl.h>
#include <mqueue.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

constexpr long PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
constexpr long DEPTH = 10;  // fs.mqueue.msg_max limits this number
constexpr int PATIENCE_S = 10;

int require(int result, const char* doing) {
  if (result >= 0) return result;
  std::perror(doing);
  std::exit(1);
}

// The system call expects an absolute time of day as the timeout.
timespec time_limit() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += PATIENCE_S;
  return now;
}

void send(const std::string& name) {
  const std::vector<char> payload(PAYLOAD_BYTES);
  const mqd_t queue = require(::mq_open(name.c_str(), O_WRONLY), "open the queue");
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    require(::mq_send(queue, payload.data(), payload.size(), 0), "send");  // waits while the queue is full
  }
  ::mq_close(queue);
  std::printf("sent %d messages\n", COUNT);
}

void receive(const std::string& name) {
  mq_attr attributes{};
  attributes.mq_maxmsg = DEPTH;
  attributes.mq_msgsize = PAYLOAD_BYTES;
  const mqd_t queue =
      require(::mq_open(name.c_str(), O_RDONLY | O_CREAT | O_EXCL, 0600, &attributes), "create the queue");
  std::puts("ready");
  std::fflush(stdout);
  std::vector<char> payload(PAYLOAD_BYTES);
  int count = 0;
  while (count < COUNT) {
    const timespec limit = time_limit();
    const auto length = ::mq_timedreceive(queue, payload.data(), payload.size(), nullptr, &limit);
    if (length < 0) break;
    count += length == PAYLOAD_BYTES;
  }
  ::mq_unlink(name.c_str());  // otherwise the queue remains until the system restarts
  ::mq_close(queue);
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  const std::string name = "/" + TOPIC;
  words > 1 && std::string(word[1]) == "send" ? send(name) : receive(name);
}
