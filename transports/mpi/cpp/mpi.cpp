/// The adapter for Open MPI: each node is a rank of one job, and each frame is one message. ../README.md describes how
/// receivers join.
#include <csignal>
#include <cstring>
#include <set>

#include "hopmeter/hopmeter.hpp"
#include "hopmeter/transport_of.hpp"
#include "job.hpp"

using namespace hopmeter;
using namespace std::chrono_literals;
using mpi::Buffer;
using mpi::check;
using mpi::Clock;
using mpi::Job;

namespace {

/// How often a publisher checks for additional receivers after the expected ones have joined.
constexpr auto look = 10ms;
/// How long `send` waits, like MPI_Send, until the library no longer needs the frame.
constexpr auto patience = 10ms;
/// How long a link end that closes waits for its unfinished messages.
constexpr auto parting = 100ms;
constexpr std::size_t most_bytes = 64 << 20, most_frames = 64;

struct Receiver {
  int rank;
  int tag;
};

/// A frame, with a request for each receiver that may still need it.
struct Outgoing : Buffer {
  std::vector<Receiver> receivers;

  /// Returns whether MPI no longer needs the frame for any receiver. Waits for this until `until`.
  bool is_done(Clock::time_point until) {
    int done = 0;
    check(wait(until, done), "sending");
    if (!done) return false;
    requests.clear();
    receivers.clear();
    return true;
  }
};

class MpiPublisher final : public Publisher {
 public:
  MpiPublisher(Job& job, const Link& link)
      : job_(job), tag_(job.next_tag()), expected_(link.receivers), frame_bytes_(link.frame_bytes) {
    frames_.resize(std::clamp<std::size_t>(most_bytes / frame_bytes_, 2, most_frames));
  }
  ~MpiPublisher() override {
    const auto until = Clock::now() + parting;
    for (auto& each : frames_) job_.release(std::move(each), until);
    note_unfinished(false);
  }

  std::string address() const override { return std::to_string(::getpid()) + ":" + std::to_string(tag_); }

  Sent send(std::size_t payload_bytes, Fill fill) override {
    if (!job_.has_started()) return job_.start(), Sent::busy;
    if (receivers_.size() < expected_) admit();
    if (is_unfinished_) note_unfinished(!are_all_done());
    auto* frame = free_frame();
    if (frame == nullptr) return remove_killed(), Sent::busy;
    if (frame->memory.empty()) frame->memory.resize(frame_bytes_);
    const auto bytes = std::span(frame->memory).first(header_bytes + payload_bytes);
    fill(bytes);
    post(*frame, bytes);
    if (!frame->is_done(Clock::now() + patience)) note_unfinished(true);
    if (Clock::now() - looked_ > look) admit();  // after the send, so that the check delays no frame
    return Sent::accepted;
  }

 private:
  bool are_all_done() {
    return std::ranges::all_of(frames_, [](Outgoing& each) { return each.is_done({}); });
  }

  void note_unfinished(bool is_unfinished) {
    if (is_unfinished != is_unfinished_) job_.count_unfinished(is_unfinished ? 1 : -1);
    is_unfinished_ = is_unfinished;
  }

  Outgoing* free_frame() {
    const auto found = std::ranges::find_if(frames_, [](Outgoing& each) { return each.is_done({}); });
    return found == frames_.end() ? nullptr : &*found;
  }

  void post(Outgoing& frame, std::span<const std::byte> bytes) {
    for (const auto& each : receivers_) {
      frame.receivers.push_back(each);
      check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, each.rank, each.tag, MPI_COMM_WORLD,
                      &frame.requests.emplace_back(MPI_REQUEST_NULL)),
            "sending a frame");
    }
  }

  /// Adds receivers that have joined, and removes receivers that have left.
  void admit() {
    looked_ = Clock::now();
    int found = 0, tag = 0;
    MPI_Status status;
    while (check(MPI_Iprobe(MPI_ANY_SOURCE, tag_, MPI_COMM_WORLD, &found, &status), "looking for receivers"), found) {
      check(MPI_Recv(&tag, 1, MPI_INT, status.MPI_SOURCE, tag_, MPI_COMM_WORLD, &status), "admitting a receiver");
      if (tag > 0)
        receivers_.push_back({status.MPI_SOURCE, tag});
      else
        remove([&](const Receiver& each) { return each.rank == status.MPI_SOURCE && each.tag == -tag; });
    }
  }

  /// Removes receivers whose processes have ended without closing the receiver.
  void remove_killed() {
    admit();
    remove([&](const Receiver& each) { return ::kill(job_.pid_of(each.rank), 0) != 0 && errno == ESRCH; });
  }

  /// Removes receivers. MPI may need their unfinished frames until the end, so the publisher replaces these frames.
  void remove(auto has_gone) {
    std::erase_if(receivers_, has_gone);
    for (auto& each : frames_) {
      if (std::ranges::any_of(each.receivers, has_gone)) job_.release(std::exchange(each, {}), {});
    }
  }

  Job& job_;
  int tag_;
  std::size_t expected_, frame_bytes_;
  std::vector<Outgoing> frames_;
  std::vector<Receiver> receivers_;
  Clock::time_point looked_;
  bool is_unfinished_ = false;
};

class MpiSubscriber final : public Subscriber {
 public:
  MpiSubscriber(Job& job, const Link& link) : job_(job), tag_(job.next_tag()) {
    incoming_.memory.resize(link.frame_bytes);
    if (std::sscanf(link.address.c_str(), "%d:%d", &pid_, &publisher_tag_) != 2)
      throw Error("the address " + link.address + " is not PID:TAG");
  }
  ~MpiSubscriber() override {
    if (request() == MPI_REQUEST_NULL) return;
    tell(-tag_);
    MPI_Cancel(&request());
    job_.release(std::move(incoming_), Clock::now() + parting);
  }

  std::size_t poll(Timeout, Take take) override {
    if (request() == MPI_REQUEST_NULL && !join()) return 0;
    int arrived = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Test(&request(), &arrived, &status), "receiving a frame");
    if (!arrived) return 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    take(Received::split(std::span<const std::byte>(incoming_.memory).first(static_cast<std::size_t>(bytes))));
    post();
    return 1;
  }

 private:
  /// Joins the publisher if this process is already a rank of the job. Returns whether the subscriber has joined.
  bool join() {
    if (!job_.has_started()) return false;
    rank_ = job_.rank_of(pid_);
    if (rank_ < 0)
      throw Error("the sender's process is not in the MPI job of this process",
                  "start all processes before the first message: no process can join an MPI job later");
    post();
    tell(tag_);
    return true;
  }

  MPI_Request& request() { return incoming_.requests.front(); }

  void post() {
    check(MPI_Irecv(incoming_.memory.data(), static_cast<int>(incoming_.memory.size()), MPI_BYTE, rank_, tag_,
                    MPI_COMM_WORLD, &request()),
          "receiving a frame");
  }

  /// Sends the publisher this receiver's tag to join, or its negative tag to leave.
  void tell(int tag) {
    Buffer number{std::vector<std::byte>(sizeof tag), {MPI_REQUEST_NULL}};
    std::memcpy(number.memory.data(), &tag, sizeof tag);
    MPI_Isend(number.memory.data(), 1, MPI_INT, rank_, publisher_tag_, MPI_COMM_WORLD, number.requests.data());
    job_.release(std::move(number), Clock::now() + parting);
  }

  Job& job_;
  int pid_ = 0, publisher_tag_ = 0, rank_ = -1, tag_;
  Buffer incoming_{{}, {MPI_REQUEST_NULL}};
};

/// Returns how the bytes travel. With vader, a process maps its own segment, and one segment of each rank it reaches.
std::string path() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> segments;
  for (std::string line; std::getline(maps, line);) {
    const auto found = line.find("/vader_segment.");
    if (found != line.npos) segments.insert(line.substr(found));
  }
  return segments.size() > 1 ? "shared memory (BTL vader)" : "TCP on the loopback device (BTL tcp)";
}

class Mpi final : public TransportOf<Job, MpiPublisher, MpiSubscriber> {
 public:
  using TransportOf::TransportOf;
  static std::string version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string_view said(text, static_cast<std::size_t>(length));
    return std::string(said.substr(0, said.find(',')));
  }
  Facts facts() override { return {{"path", path()}}; }
};

}  // namespace

int main(int argc, char** argv) { return run<Mpi>(argc, argv); }
