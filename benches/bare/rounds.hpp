// Measures bare programs in C++ that must first discover their other process.
#pragma once
#include "bare.h"

enum { LOOK_MS = 100, LOOKS = 100, TRIES = 200 };

// Measures round trips. A round trip returns its duration, or 0 if the message did not come back within the given
// number of waits. A late answer to an earlier message is ignored; otherwise, every further answer would also be late.
template <class RoundTrip>
void measure(const RoundTrip& round_trip) {
  for (int tries = 0; round_trip(1) == 0;) require(tries++ < TRIES, "find the other process");
  for (size_t round = 0; round < rounds; round++) require((took[round] = round_trip(LOOKS)) > 0, "get the answer");
}
