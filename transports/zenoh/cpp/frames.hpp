/// Converts frames to zenoh's bytes and back.
#pragma once

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <zenoh.hxx>

#include "hopmeter/hopmeter.hpp"

#if defined(Z_FEATURE_SHARED_MEMORY) && defined(Z_FEATURE_UNSTABLE_API)
#define HAS_SHARED_MEMORY 1
#else
#define HAS_SHARED_MEMORY 0
#endif

namespace peers {

using hopmeter::Error, hopmeter::Fill, hopmeter::header_bytes, hopmeter::Received, hopmeter::Sent, hopmeter::Setup;

/// How the transport uses shared memory.
class SharedMemory {
 public:
  explicit SharedMemory(const Setup& setup)
      : word_(setup.setting<std::string>("shared_memory")), largest_frame_bytes_(setup.largest_frame_bytes()) {
    if (!HAS_SHARED_MEMORY && is_on())
      throw Error("the zenoh-c in ZENOH_ROOT was built without shared memory",
                  "build it with ZENOHC_BUILD_WITH_SHARED_MEMORY and ZENOHC_BUILD_WITH_UNSTABLE_API, or use "
                  "shared_memory = \"off\"");
  }

  bool is_on() const { return word_ != "off"; }
  /// Whether zenoh itself copies large messages into shared memory.
  bool is_automatic() const { return word_ == "auto"; }
  /// Whether frames are written directly into shared memory.
  bool loans() const { return word_ == "loan"; }
  /// Whether frames should go through shared memory.
  bool is_expected() const { return loans() || (is_automatic() && largest_frame_bytes_ >= copied_from_bytes); }

 private:
  /// The minimum size of the messages that zenoh itself copies into shared memory.
  static constexpr std::size_t copied_from_bytes = 3072;

  std::string word_;
  std::size_t largest_frame_bytes_;
};

/// Buffers that zenoh has released and that are reused. New memory for each large frame would cost a page fault every 4
/// KiB.
class Pool {
 public:
  using Buffer = std::vector<std::uint8_t>;

  Buffer take(std::size_t bytes) {
    Buffer buffer;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        buffer = std::move(free_.back());
        free_.pop_back();
      }
    }
    buffer.resize(bytes);
    return buffer;
  }

  /// zenoh calls this function on one of its own threads.
  void give_back(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

/// The memory in which a sender's frames are written.
class Memory {
 public:
  Memory(const SharedMemory& shared_memory, std::size_t frame_bytes) {
    if (shared_memory.loans()) reserve(std::max<std::size_t>(loaned_frames * frame_bytes, least_bytes));
  }

  /// Lets `fill` write a frame, and calls `put` to send it; returns busy while all memory is in use.
  Sent send(std::size_t payload_bytes, Fill fill, const auto& put) {
    auto frame = write(header_bytes + payload_bytes, fill);
    if (!frame) return Sent::busy;
    put(std::move(*frame));
    return Sent::accepted;
  }

 private:
  /// How many frames of the largest size fit into a sender's shared memory, and the minimum size of this memory.
  static constexpr std::size_t loaned_frames = 16, least_bytes = 1 << 20;

  static std::span<std::byte> span(std::uint8_t* data, std::size_t bytes) {
    return std::as_writable_bytes(std::span(data, bytes));
  }

  /// Returns a frame that `fill` has written; nothing while all memory is in use.
  std::optional<zenoh::Bytes> write(std::size_t bytes, Fill fill) {
#if HAS_SHARED_MEMORY
    if (provider_) {
      auto allocated = provider_->alloc_gc(bytes);
      auto* loan = std::get_if<zenoh::ZShmMut>(&allocated);
      if (!loan) return {};
      fill(span(loan->data(), bytes));
      return zenoh::Bytes(std::move(*loan));
    }
#endif
    auto buffer = pool_->take(bytes);
    auto* data = buffer.data();
    fill(span(data, bytes));
    auto release = [pool = pool_, buffer = std::move(buffer)](std::uint8_t*) mutable {
      pool->give_back(std::move(buffer));
    };
    return zenoh::Bytes(data, bytes, std::move(release));
  }

#if HAS_SHARED_MEMORY
  void reserve(std::size_t bytes) try { provider_.emplace(bytes); } catch (const zenoh::ZException&) {
    std::throw_with_nested(Error("reserving " + std::to_string(bytes) + " bytes of shared memory for zenoh",
                                 "check that there is room in /dev/shm, or use shared_memory = \"off\""));
  }

  std::optional<zenoh::PosixShmProvider> provider_;
#else
  void reserve(std::size_t) {}
#endif
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
};

/// Counts the received frames, and how many of them came through shared memory, to prove that shared memory is in use.
class Arrivals {
 public:
  explicit Arrivals(const SharedMemory& shared_memory) : counts_(shared_memory.is_on()) {}

  void count(const zenoh::Bytes& message) {
    frames_.fetch_add(1, std::memory_order_relaxed);
    if (counts_ && is_shared(message)) shared_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Returns how the received frames travelled, and any difference from the settings. The first few frames arrive
  /// before the two sides know of each other's shared memory.
  hopmeter::Facts facts(const std::string& way, bool expected) const {
    const auto frames = frames_.load(), shared = shared_.load();
    if (frames == 0) return {};
    if (!counts_) return {{"path", way}};
    const auto counted =
        "shared memory for " + std::to_string(shared) + " of " + std::to_string(frames) + " frames received";
    hopmeter::Facts facts{{"path", counted + ", " + way}};
    if (expected && shared * 2 < frames) facts.emplace_back("fallback", counted);
    return facts;
  }

 private:
  static bool is_shared([[maybe_unused]] const zenoh::Bytes& message) {
#if HAS_SHARED_MEMORY
    return message.as_shm().has_value();
#else
    return false;
#endif
  }

  bool counts_;
  std::atomic<std::uint64_t> frames_ = 0, shared_ = 0;
};

/// Converts the messages that one link end receives to frames.
class Incoming {
 public:
  explicit Incoming(Arrivals& arrivals) : arrivals_(arrivals) {}

  /// Passes a message on as a frame, and attaches the message to the frame, so that the message can be forwarded
  /// without a copy. Returns the number of frames: an empty message only wakes the receiver.
  std::size_t pass(const zenoh::Bytes& message, const auto& hand_over) {
    const auto bytes = message.size();
    if (bytes == 0) return 0;
    arrivals_.count(message);
    const auto first = message.slice_iter().next();
    const auto* data = first->len < bytes ? join(message, bytes) : first->data;
    hand_over(Received::split(std::as_bytes(std::span(data, bytes))).with_native(&message));
    return 1;
  }

 private:
  /// Joins the pieces of a message in one buffer.
  const std::uint8_t* join(const zenoh::Bytes& message, std::size_t bytes) {
    if (room_ < bytes) joined_ = std::make_unique_for_overwrite<std::uint8_t[]>(room_ = bytes);
    message.reader().read(joined_.get(), bytes);
    return joined_.get();
  }

  Arrivals& arrivals_;
  std::unique_ptr<std::uint8_t[]> joined_;
  std::size_t room_ = 0;
};

/// Removes the files of zenoh's shared memory that this process has mapped. Other processes keep their mappings of
/// these files.
inline void remove_mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  for (std::string word; maps >> word;) {
    std::error_code ignored;  // zenoh or the other side may already have removed the file
    if (word.starts_with("/dev/shm/") && word.ends_with(".zenoh")) std::filesystem::remove(word, ignored);
  }
#if HAS_SHARED_MEMORY
  zenoh::cleanup_orphaned_shm_segments();
#endif
}

}  // namespace peers
