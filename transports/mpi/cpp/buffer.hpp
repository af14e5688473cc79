/// Memory that MPI uses while it sends or receives messages.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "hopmeter/error.hpp"

namespace mpi {

using Clock = std::chrono::steady_clock;

/// Throws an error with MPI's text if a call has failed.
inline void check(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw hopmeter::Error(std::string(doing) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// Memory, with a request for each message that MPI may still send from it or receive into it.
struct Buffer {
  std::vector<std::byte> memory;
  std::vector<MPI_Request> requests;

  /// Waits until MPI no longer needs the memory, at most until `until`. Sets `done` to whether MPI no longer needs it,
  /// and returns MPI's error code.
  int wait(Clock::time_point until, int& done) noexcept {
    int code = MPI_SUCCESS;
    for (done = requests.empty(); !done && code == MPI_SUCCESS;) {
      code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (!done && Clock::now() >= until) break;
    }
    return code;
  }

  /// Like `wait`, but returns whether MPI no longer needs the memory, and ignores errors.
  bool is_done(Clock::time_point until = {}) noexcept {
    int done = 0;
    wait(until, done);
    return done != 0;
  }
};

}  // namespace mpi
