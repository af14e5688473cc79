/// The functions of the C library by which Fast DDS (through Boost.Interprocess, and directly for its locks) makes,
/// opens and removes what lies in /dev/shm. An executable's own come before those of the C library; these put the run
/// into the names that begin as Fast DDS's do, and pass everything else on.
#include "names.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace {

std::string prefix;

constexpr std::array<std::string_view, 2> places{"/dev/shm/", "/"};
/// As Fast DDS 2 and 3 have them.
constexpr std::array<std::string_view, 3> beginnings{"fastrtps_", "fastdds_", "fast_datasharing_"};

/// A name as it is to be passed on.
class Name {
 public:
  explicit Name(const char* given) : given_(given) {
    if (prefix.empty() || !given) return;
    std::string_view bare(given);
    for (const auto place : places)
      if (bare.starts_with(place)) {
        bare.remove_prefix(place.size());
        break;
      }
    for (const auto beginning : beginnings)
      if (bare.starts_with(beginning)) ours_ = std::string(given, bare.data()) + prefix + std::string(bare);
  }

  operator const char*() const noexcept { return ours_.empty() ? given_ : ours_.c_str(); }

 private:
  const char* given_;
  std::string ours_;
};

/// The C library's function of the same name as ours.
template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void fastdds::name_shared_memory_after(const std::string& run) { prefix = "hm_" + run + "_"; }

extern "C" {

int shm_open(const char* name, int flags, mode_t mode) {
  static auto* const real = next(&shm_open, "shm_open");
  return real(Name(name), flags, mode);
}

int shm_unlink(const char* name) {
  static auto* const real = next(&shm_unlink, "shm_unlink");
  return real(Name(name));
}

sem_t* sem_open(const char* name, int flags, ...) noexcept {
  static auto* const real = next(&sem_open, "sem_open");
  if (!(flags & O_CREAT)) return real(Name(name), flags);
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  const auto value = va_arg(more, unsigned);
  va_end(more);
  return real(Name(name), flags, mode, value);
}

int sem_unlink(const char* name) noexcept {
  static auto* const real = next(&sem_unlink, "sem_unlink");
  return real(Name(name));
}

int open(const char* path, int flags, ...) {
  static auto* const real = next(&open, "open");
  mode_t mode = 0;
  if (flags & (O_CREAT | __O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return real(Name(path), flags, mode);
}

/// Fast DDS 3 asks whether the file that it has locked is still there, and begins again where it is not.
int stat(const char* path, struct stat* about) noexcept {
  static auto* const real = next<int(const char*, struct stat*)>(nullptr, "stat");
  return real(Name(path), about);
}

int remove(const char* path) noexcept {
  static auto* const real = next(&remove, "remove");
  return real(Name(path));
}

}  // extern "C"
