// What the bare programs in C++ that have to find their other end first measure.
#pragma once
#include "bare.h"

enum { LOOK_MS = 100, LOOKS = 100, TRIES = 200 };

// Each round trip of so many looks at most tells how long it took, or 0 where it did not come back. A late answer to an
// earlier one is no look: each would have the next sent, and be late itself, for ever.
template <class RoundTrip>
void measure(const RoundTrip& round_trip) {
  for (int tries = 0; round_trip(1) == 0;) require(tries++ < TRIES, "find the other process");
  for (size_t round = 0; round < rounds; round++) require((took[round] = round_trip(LOOKS)) > 0, "get the answer");
}
