/// The MPI job that the nodes of a trial form together. ../README.md describes how a node becomes a rank.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stop_token>
#include <thread>

#include "buffer.hpp"
#include "hopmeter/hopmeter.hpp"
#include "hopmeter/resource.hpp"

namespace mpi {

using namespace std::chrono_literals;
using hopmeter::Error;

/// The pause between two checks of whether the job has started, or whether messages are still unfinished.
inline constexpr auto pause = 2ms;

/// This process's place in the job. A thread initializes MPI as soon as the job has started, and finalizes MPI at the
/// end, because the same thread must do both. In between, the thread calls MPI only while messages are unfinished.
class Job {
 public:
  explicit Job(const hopmeter::Setup& setup) : folder_(setup.broker()) {
    std::ofstream{waiting()};
    thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }

  ~Job() {
    thread_.request_stop();
    thread_.join();
  }

  /// Returns whether this process is a rank. If not, first sleeps briefly, so that a spinning caller does not keep the
  /// core from the thread that initializes MPI.
  bool has_started() {
    if (state_.load(std::memory_order_acquire) == State::started) return true;
    std::this_thread::sleep_for(pause);
    if (state_ == State::failed) throw Error(failure_, "read the log of mpirun");
    return false;
  }

  /// Requests a job with all waiting nodes from the broker.
  void start() {
    if (is_rung_.exchange(true)) return;
    const hopmeter::Descriptor bell(::open((folder_ + "/doorbell").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC),
                                    "asking mpirun for a job");
    if (::write(*bell, "start\n", 6) != 6) throw Error::system("asking mpirun for a job");
  }

  /// Adds `ends`, which is 1 or -1, to the number of link ends that have unfinished messages. While there are such link
  /// ends, the thread calls MPI: MPI sends messages only inside its functions, and the link ends may call none.
  void count_unfinished(int ends) {
    const std::scoped_lock lock(mutex_);
    unfinished_ += ends;
    wake_.notify_one();
  }

  /// Waits until MPI no longer needs a buffer, at most until `until`. If MPI then still needs the buffer, keeps it
  /// until MPI no longer needs it, or until MPI is finalized.
  void release(Buffer buffer, Clock::time_point until) noexcept {
    if (buffer.is_done(until)) return;
    const std::scoped_lock lock(mutex_);
    kept_.push_back(std::move(buffer));
    wake_.notify_one();
  }

  /// Returns a tag that no other link end of this process uses.
  int next_tag() { return ++tags_; }

  /// Returns the rank of a node, or -1 if the node is not in the job.
  int rank_of(int pid) const {
    const auto found = std::ranges::find(pids_, pid);
    return found == pids_.end() ? -1 : static_cast<int>(found - pids_.begin());
  }

  int pid_of(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }

 private:
  enum class State { waiting, started, failed };
  /// A tag that no link end uses.
  static constexpr int unused_tag = 0;

  std::string waiting() const { return folder_ + "/waiting/" + std::to_string(::getpid()); }

  void run(const std::stop_token& stop) {
    try {
      if (!await_rank(stop)) return;
      initialize();
      state_.store(State::started, std::memory_order_release);
    } catch (const std::exception& error) {
      failure_ = error.what();
      state_ = State::failed;
      return;
    }
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [&] { return unfinished_ > 0 || !kept_.empty(); })) {
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, unused_tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
      std::erase_if(kept_, [](Buffer& each) { return each.is_done(); });
      wake_.wait_for(lock, stop, pause, [] { return false; });
      if (stop.stop_requested()) break;
    }
    MPI_Finalize();
  }

  /// Waits until mpirun has a rank for this process, and copies the environment of the rank. Returns false if the
  /// thread has to end before that.
  bool await_rank(const std::stop_token& stop) const {
    const auto path = folder_ + "/ranks/" + std::to_string(::getpid());
    while (!std::filesystem::exists(path)) {
      if (stop.stop_requested()) return std::filesystem::remove(waiting()), false;
      std::this_thread::sleep_for(pause);
    }
    std::ifstream file(path);
    for (std::string entry; std::getline(file, entry, '\0');) {
      const auto end = entry.find('=');
      if (end != entry.npos) ::setenv(entry.substr(0, end).c_str(), entry.c_str() + end + 1, 1);
    }
    return true;
  }

  void initialize() {
    int level = 0, ranks = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "initializing MPI");
    if (level < MPI_THREAD_MULTIPLE) throw Error("this MPI library does not support MPI_THREAD_MULTIPLE");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pids_.resize(static_cast<std::size_t>(ranks));
    const int own = ::getpid();
    check(MPI_Allgather(&own, 1, MPI_INT, pids_.data(), 1, MPI_INT, MPI_COMM_WORLD), "exchanging process ids");
  }

  std::string folder_, failure_;
  std::vector<int> pids_;
  std::atomic<State> state_ = State::waiting;
  std::atomic<bool> is_rung_ = false;
  std::atomic<int> tags_ = 0;
  int unfinished_ = 0;
  /// The buffers that their link ends have released, but that MPI still needs.
  std::vector<Buffer> kept_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace mpi
