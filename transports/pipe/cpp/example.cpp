// Sends messages through a named pipe: start `example receive`, then `example send` in a second terminal.
// A pipe carries bytes without message boundaries, so the receiver must know the size of a message.
// Build: c++ -std=c++20 -O2 example.cpp -o example
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

constexpr std::size_t PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
const std::string TOPIC = "messages";
constexpr int PIPE_SIZE = 0;  // the capacity in bytes; 0 keeps the system's default, 64 KiB

int require(int result, const char* doing) {
  if (result >= 0) return result;
  std::perror(doing);
  std::exit(1);
}

void send(const std::string& path) {
  const std::vector<char> payload(PAYLOAD_BYTES);
  const int pipe = require(::open(path.c_str(), O_WRONLY), "open the pipe");
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    for (std::size_t done = 0; done < PAYLOAD_BYTES;) {  // waits while the pipe is full
      const auto written = ::write(pipe, payload.data() + done, PAYLOAD_BYTES - done);
      done += static_cast<std::size_t>(require(static_cast<int>(written), "write"));
    }
  }
  ::close(pipe);
  std::printf("sent %d messages\n", COUNT);
}

// Reads a whole message. Returns false if the sender has closed the pipe.
bool read_message(int pipe, std::vector<char>& payload) {
  for (std::size_t done = 0; done < PAYLOAD_BYTES;) {
    const auto arrived = ::read(pipe, payload.data() + done, PAYLOAD_BYTES - done);
    if (arrived <= 0) return false;
    done += static_cast<std::size_t>(arrived);
  }
  return true;
}

void receive(const std::string& path) {
  require(::mkfifo(path.c_str(), 0600), "create the pipe");
  std::puts("ready");
  std::fflush(stdout);
  const int pipe = ::open(path.c_str(), O_RDONLY);  // waits for the sender
  ::unlink(path.c_str());                           // the pipe itself remains until both programs have closed it
  require(pipe, "open the pipe");
  if (PIPE_SIZE > 0) require(::fcntl(pipe, F_SETPIPE_SZ, PIPE_SIZE), "set the capacity");
  std::vector<char> payload(PAYLOAD_BYTES);
  int count = 0;
  while (count < COUNT && read_message(pipe, payload)) ++count;
  ::close(pipe);
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  const std::string path = TOPIC + ".fifo";
  words > 1 && std::string(word[1]) == "send" ? send(path) : receive(path);
}
