// Sends messages with MPI: `mpirun -n 1 ./example receive : -n 1 ./example send` starts both programs.
// Build: mpicxx -std=c++20 -O2 example.cpp -o example
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

constexpr int PAYLOAD_BYTES = 1000;
constexpr double RATE_HZ = 100.0;
constexpr int COUNT = 100;
constexpr int TAG = 1;
constexpr int RECEIVER = 0, SENDER = 1;  // the ranks of the two programs

void send() {
  const std::vector<char> payload(PAYLOAD_BYTES);
  const auto begin = std::chrono::steady_clock::now();
  for (int number = 0; number < COUNT; ++number) {
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(number / RATE_HZ));
    MPI_Send(payload.data(), PAYLOAD_BYTES, MPI_BYTE, RECEIVER, TAG, MPI_COMM_WORLD);
  }
  std::printf("sent %d messages\n", COUNT);
}

void receive() {
  std::puts("ready");
  std::fflush(stdout);
  std::vector<char> payload(PAYLOAD_BYTES);
  int count = 0;
  for (int number = 0; number < COUNT; ++number) {
    MPI_Status status;
    int bytes = 0;
    MPI_Recv(payload.data(), PAYLOAD_BYTES, MPI_BYTE, SENDER, TAG, MPI_COMM_WORLD, &status);  // uses a whole core
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    count += bytes == PAYLOAD_BYTES;
  }
  std::printf("received %d messages\n", count);
}

int main(int words, char** word) {
  MPI_Init(&words, &word);
  words > 1 && std::string(word[1]) == "send" ? send() : receive();
  MPI_Finalize();
}
