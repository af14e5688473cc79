// A bare ping-pong between two MPI ranks. `mpi plain|alike BYTES ROUNDS CORES` prints the median round trip in ns.
// CORES is `A` or `A,B`, as in bare.h. The program starts itself with mpirun. `plain` calls MPI_Init, MPI_Send and
// MPI_Recv. `alike` does the same work as a hopmeter ring: it uses MPI_THREAD_MULTIPLE and tests requests instead of
// blocking, and each process stores a record with two timestamps per message.
#define _GNU_SOURCE
#include <mpi.h>

#include "bare.h"

enum { THERE = 1, BACK = 2 };

static int alike;
static MPI_Request incoming;
static char *frame, *arriving;

static void start_with_mpirun(char** words) {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  execlp("mpirun", "mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", words[0], words[1], words[2], words[3],
         words[4], (char*)NULL);
  require(0, "start mpirun");
}

static void expect(int peer, int tag) {
  MPI_Irecv(arriving, (int)frame_bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &incoming);
}

static void put(const char* bytes, int peer, int tag) {
  if (!alike) {
    MPI_Send(bytes, (int)frame_bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    return;
  }
  MPI_Request outgoing;
  MPI_Isend(bytes, (int)frame_bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &outgoing);
  for (int done = 0; !done;) MPI_Test(&outgoing, &done, MPI_STATUS_IGNORE);
}

static void take(int peer, int tag) {
  if (!alike) {
    MPI_Recv(arriving, (int)frame_bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Status status;
  int bytes = 0;
  for (int done = 0; !done;) MPI_Test(&incoming, &done, &status);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  require(bytes == (int)frame_bytes, "receive a whole frame");
}

static void echo(void) {
  if (alike) expect(0, THERE);
  for (size_t round = 0; round < rounds; round++) {
    take(0, THERE);
    if (alike) {
      note((int64_t)round, now_ns());
      memcpy(frame, arriving, frame_bytes);  // as a relay does
      if (round + 1 < rounds) expect(0, THERE);
    }
    put(alike ? frame : arriving, 0, BACK);
  }
}

static void measure(void) {
  for (size_t round = 0; round < rounds; round++) {
    if (alike) expect(1, BACK);
    const int64_t begun = now_ns();
    put(frame, 1, THERE);
    take(1, BACK);
    const int64_t arrived = now_ns();
    took[round] = arrived - begun;
    if (alike) note((int64_t)round, arrived);
  }
  tell_median();
}

int main(int count, char** words) {
  require(count == 5, "start without plain|alike BYTES ROUNDS CORES");
  if (getenv("OMPI_COMM_WORLD_RANK") == NULL) start_with_mpirun(words);
  alike = strcmp(words[1], "alike") == 0;
  prepare(words + 2);
  const int rank = atoi(getenv("OMPI_COMM_WORLD_RANK"));
  if (rank == 1) take_core(other_core);
  frame = malloc(frame_bytes);
  arriving = malloc(frame_bytes);
  memset(frame, 1, frame_bytes);
  int level;
  MPI_Init_thread(NULL, NULL, alike ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Barrier(MPI_COMM_WORLD);
  rank == 1 ? echo() : measure();
  MPI_Finalize();
}
