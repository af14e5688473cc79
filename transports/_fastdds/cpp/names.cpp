/// Replaces the functions of the C library with which Fast DDS creates, opens and removes files in /dev/shm: it calls
/// them through Boost.Interprocess, and directly for its locks. The functions of an executable take precedence over
/// those of the C library. These functions add the run to names that begin like the names of Fast DDS, and pass all
/// other names on unchanged.
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

std::string run_prefix;

constexpr std::array<std::string_view, 2> places{"/dev/shm/", "/"};
/// The prefixes that Fast DDS 2 and 3 use.
constexpr std::array<std::string_view, 3> prefixes{"fastrtps_", "fastdds_", "fast_datasharing_"};

/// Adds the run to a name if the name belongs to Fast DDS.
class Name {
 public:
  explicit Name(const char* given) : given_(given) {
    if (run_prefix.empty() || !given) return;
    std::string_view bare(given);
    for (const auto place : places)
      if (bare.starts_with(place)) {
        bare.remove_prefix(place.size());
        break;
      }
    for (const auto start : prefixes)
      if (bare.starts_with(start)) own_ = std::string(given, bare.data()) + run_prefix + std::string(bare);
  }

  operator const char*() const noexcept { return own_.empty() ? given_ : own_.c_str(); }

 private:
  const char* given_;
  std::string own_;
};

/// The function of the C library with the same name.
template <class Function>
Function* c_library(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void fastdds::name_shared_memory_after(const std::string& run) { run_prefix = "hm_" + run + "_"; }

extern "C" {

int shm_open(const char* name, int flags, mode_t mode) {
  static auto* const real = c_library(&shm_open, "shm_open");
  return real(Name(name), flags, mode);
}

int shm_unlink(const char* name) {
  static auto* const real = c_library(&shm_unlink, "shm_unlink");
  return real(Name(name));
}

sem_t* sem_open(const char* name, int flags, ...) noexcept {
  static auto* const real = c_library(&sem_open, "sem_open");
  if (!(flags & O_CREAT)) return real(Name(name), flags);
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  const auto value = va_arg(more, unsigned);
  va_end(more);
  return real(Name(name), flags, mode, value);
}

int sem_unlink(const char* name) noexcept {
  static auto* const real = c_library(&sem_unlink, "sem_unlink");
  return real(Name(name));
}

int open(const char* path, int flags, ...) {
  static auto* const real = c_library(&open, "open");
  mode_t mode = 0;
  if (flags & (O_CREAT | __O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return real(Name(path), flags, mode);
}

/// Fast DDS 3 checks whether the file that it has locked still exists, and starts again if the file is gone.
int stat(const char* path, struct stat* about) noexcept {
  static auto* const real = c_library<int(const char*, struct stat*)>(nullptr, "stat");
  return real(Name(path), about);
}

int remove(const char* path) noexcept {
  static auto* const real = c_library(&remove, "remove");
  return real(Name(path));
}

}  // extern "C"
