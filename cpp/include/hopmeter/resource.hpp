/// RAII wrappers for handles of C libraries and of the kernel.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "hopmeter/error.hpp"

namespace hopmeter {

/// A deleter that calls a C library function.
template <auto destroy>
struct Destroy {
  void operator()(auto* handle) const noexcept { destroy(handle); }
};

/// A C library handle that a library function releases: `Resource<nng_msg, nng_msg_free>`.
template <class Raw, auto destroy>
using Resource = std::unique_ptr<Raw, Destroy<destroy>>;

/// A file descriptor that the destructor closes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  /// Takes ownership of a descriptor that a system call returned. If the system call failed, throws an error that
  /// contains `doing` and the cause.
  Descriptor(int descriptor, const char* doing) : descriptor_(descriptor) {
    if (descriptor < 0) throw Error::system(doing);
  }
  Descriptor(Descriptor&& from) noexcept : descriptor_(std::exchange(from.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int operator*() const noexcept { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace hopmeter
