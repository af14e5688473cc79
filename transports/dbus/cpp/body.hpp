/// The bodies of messages: a byte array, or the file descriptor of sealed memory.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bus.hpp"

namespace hopmeter::body {

/// Maps a whole file into memory. The destructor unmaps the file.
class Mapping {
 public:
  Mapping(int memory, std::size_t bytes, int access, int sharing) : bytes_(bytes) {
    start_ = ::mmap(nullptr, bytes, access, sharing, memory, 0);
    if (start_ == MAP_FAILED) throw Error::system("mapping sealed memory");
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(start_, bytes_); }

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(start_), bytes_}; }

 private:
  void* start_;
  std::size_t bytes_;
};

/// Lets `fill` write a frame into new memory, and seals the memory, so that no process can change or shorten it.
inline Descriptor seal_frame(std::size_t payload_bytes, Fill fill) {
  const auto bytes = header_bytes + payload_bytes;
  Descriptor memory(::memfd_create("hopmeter", MFD_CLOEXEC | MFD_ALLOW_SEALING), "creating sealed memory");
  if (::ftruncate(*memory, static_cast<off_t>(bytes)) != 0) throw Error::system("sizing sealed memory");
  // The mapping ends with this statement, because memory cannot be sealed while it is mapped as writable.
  fill(Mapping(*memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED).bytes());
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (::fcntl(*memory, F_ADD_SEALS, seals) != 0) throw Error::system("sealing memory");
  return memory;
}

/// Lets `fill` write a frame into a message.
inline void write(const Message& message, bool is_memfd, std::size_t payload_bytes, Fill fill) {
  if (is_memfd) {
    const auto memory = seal_frame(payload_bytes, fill);
    demand(sd_bus_message_append(message.get(), "h", *memory), "writing a D-Bus message");
    return;
  }
  void* space = nullptr;
  const auto bytes = header_bytes + payload_bytes;
  demand(sd_bus_message_append_array_space(message.get(), 'y', bytes, &space), "writing a D-Bus message");
  fill(std::span(static_cast<std::byte*>(space), bytes));
}

inline void read_memory(int memory, const auto& take) {
  const int seals = ::fcntl(memory, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || !(seals & F_SEAL_WRITE)) {
    throw Error("the sender did not seal the memory of a message");
  }
  struct stat status {};
  if (::fstat(memory, &status) != 0) throw Error::system("reading the size of sealed memory");
  // Before Linux 6.7, sealed memory cannot be mapped with MAP_SHARED.
  const Mapping mapping(memory, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE);
  take(Received::split(mapping.bytes()));
}

/// Passes the frame in a message to `take`. Throws if the message contains neither a byte array nor sealed memory.
inline void read(const Message& message, const auto& take) {
  if (sd_bus_message_has_signature(message.get(), "h")) {
    int memory = -1;
    demand(sd_bus_message_read(message.get(), "h", &memory), "reading a D-Bus message");
    return read_memory(memory, take);
  }
  const void* start = nullptr;
  std::size_t bytes = 0;
  demand(sd_bus_message_read_array(message.get(), 'y', &start, &bytes), "reading a D-Bus message");
  take(Received::split({static_cast<const std::byte*>(start), bytes}));
}

}  // namespace hopmeter::body
