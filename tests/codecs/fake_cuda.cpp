// A replacement for NVIDIA's driver library in tests without a GPU. The GPU memory of this library is host memory. The
// library enforces the driver's documented rules. Every call needs a context. A handle must come from another process,
// be opened only once and refer to the base of an allocation.
//
// FAKE_CUDA lists the visible GPUs, with one letter per GPU, such as "AB". The UUID of GPU A is 16 times 'A'.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

constexpr int kInvalidValue = 1, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101, kInvalidContext = 201,
              kAlreadyMapped = 208, kInvalidHandle = 400;

struct Allocation {
  size_t size;
  char device;  // the GPU's letter
  int file;     // -1 for memory that does not come from cudaMalloc
  bool foreign;
};

struct Name {  // the content of a handle
  int pid, file;
  size_t size, device;  // without padding, because handles are compared as bytes
};

std::map<uint64_t, Allocation> memory;
std::map<uint64_t, std::string> opened;  // the opened handles, by the address of their mapping
std::map<std::string, int> calls;
thread_local int depth = 0;
bool started = false;

std::string devices() {
  const char* seen = std::getenv("FAKE_CUDA");
  return seen == nullptr ? "A" : seen;
}

auto containing(uint64_t address) {
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return memory.end();
  --found;
  return address < found->first + found->second.size ? found : memory.end();
}

uint64_t map_memory(int file, size_t size) {
  return reinterpret_cast<uint64_t>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
}

}  // namespace

extern "C" {

struct Handle {
  char bytes[64];
};

struct Uuid {
  char bytes[16];
};

// Functions for tests: `fake_alloc` allocates GPU memory, with a handle if `exportable`; `fake_calls` returns how often
// a driver function was called; `fake_forget` resets all counts.
uint64_t fake_alloc(size_t size, char device, int exportable) {
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) std::abort();
  const uint64_t base = map_memory(file, size);
  memory[base] = {size, device, exportable != 0 ? file : -1, false};
  return base;
}
int fake_calls(const char* name) { return calls[name]; }
void fake_forget() { calls.clear(); }

int cuInit(unsigned) {
  if (devices().empty()) return kNoDevice;
  started = true;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  static const std::map<int, const char*> names{{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
                                                {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                {kAlreadyMapped, "CUDA_ERROR_ALREADY_MAPPED"},
                                                {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"}};
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : 0;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(devices().size());
  return started ? 0 : kNotInitialized;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal + 7;  // a device handle differs from the device's ordinal
  return ordinal < static_cast<int>(devices().size()) ? 0 : kInvalidDevice;
}
int cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  std::memset(uuid->bytes, devices()[static_cast<size_t>(device - 7)], sizeof uuid->bytes);
  return 0;
}
int cuDeviceGetUuid(Uuid*, int) { return kInvalidValue; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<intptr_t>(device));
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  ++depth;
  return context == nullptr ? kInvalidContext : 0;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = nullptr;
  return depth-- > 0 ? 0 : kInvalidContext;
}
int cuCtxSynchronize() {
  ++calls["synchronize"];
  return depth > 0 ? 0 : kInvalidContext;
}
int cuPointerGetAttribute(void* data, int which, uint64_t address) {
  const auto found = containing(address);
  if (found == memory.end()) return kInvalidValue;
  const int value =
      which == 9 ? static_cast<int>(devices().find(found->second.device)) : static_cast<int>(found->second.file >= 0);
  std::memcpy(data, &value, sizeof value);
  return which == 9 || which == 10 ? 0 : kInvalidValue;
}
int cuMemGetAddressRange_v2(uint64_t* base, size_t* size, uint64_t address) {
  const auto found = containing(address);
  if (depth == 0) return kInvalidContext;
  if (found == memory.end()) return kInvalidValue;
  *base = found->first;
  *size = found->second.size;
  return 0;
}
int cuMemcpyDtoH_v2(void* target, uint64_t address, size_t size) {
  ++calls["read"];
  if (depth == 0) return kInvalidContext;
  std::memcpy(target, reinterpret_cast<void*>(address), size);
  return 0;
}
int cuIpcGetMemHandle(Handle* handle, uint64_t address) {
  const auto found = memory.find(address);
  if (depth == 0) return kInvalidContext;
  if (found == memory.end() || found->second.file < 0 || found->second.foreign) return kInvalidValue;
  const Name name{getpid(), found->second.file, found->second.size, static_cast<size_t>(found->second.device)};
  std::memset(handle->bytes, 0, sizeof handle->bytes);
  std::memcpy(handle->bytes, &name, sizeof name);
  return 0;
}
int cuIpcOpenMemHandle_v2(uint64_t* address, Handle handle, unsigned flags) {
  Name name{};
  std::memcpy(&name, handle.bytes, sizeof name);
  if (depth == 0 || name.pid == getpid()) return kInvalidContext;
  if (flags != 1) return kInvalidValue;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", name.pid, name.file);
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat found {};
  if (file < 0) return kInvalidHandle;
  if (fstat(file, &found) != 0 || name.size == 0 || static_cast<size_t>(found.st_size) != name.size) {
    close(file);
    return kInvalidHandle;
  }
  for (const auto& [base, of] : opened)
    if (of == std::string(handle.bytes, sizeof handle.bytes)) return close(file), kAlreadyMapped;
  *address = map_memory(file, name.size);
  close(file);
  opened[*address] = std::string(handle.bytes, sizeof handle.bytes);
  memory[*address] = {name.size, static_cast<char>(name.device), -1, true};
  ++calls["open"];
  return 0;
}
int cuIpcCloseMemHandle(uint64_t address) {
  const auto found = memory.find(address);
  if (depth == 0) return kInvalidContext;
  if (found == memory.end() || !found->second.foreign) return kInvalidValue;
  munmap(reinterpret_cast<void*>(address), found->second.size);
  memory.erase(found);
  opened.erase(address);
  ++calls["close"];
  return 0;
}
}
