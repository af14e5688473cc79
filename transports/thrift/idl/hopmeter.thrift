/**
 * What the adapters of this transport exchange. How the frame's header travels in the fields: ../README.md.
 */
namespace cpp hopmeter.idl

/** A point in time of the sender's monotonic clock. */
struct Stamp {
  1: i64 sec
  2: i32 nanosec
}

/** The small message, and any other payload as its padding. */
struct Timing {
  1: i64 id
  2: i64 nanosec
  3: string source
  4: binary padding
}

/** Pixels, as cameras send them. */
struct Image {
  1: Stamp stamp
  2: string frame_id
  3: i32 height
  4: i32 width
  5: string encoding
  6: i32 step
  7: binary data
}

/** The server did not answer this request; the client takes it for lost. */
exception Unanswered {
}

service Exchange {
  Timing timing(1: Timing request) throws (1: Unanswered unanswered)
  Image image(1: Image request) throws (1: Unanswered unanswered)
}
