//! The clock exchange between two hosts: timestamped datagrams from which the clock offset is computed.
//!
//! The four timestamps of an exchange show when the asker sends, the responder receives, the responder sends and the
//! asker receives. The delays of the two directions are unknown, but not negative, so half of the round trip bounds the
//! error of the offset.

mod asker;
mod limit;
mod packet;
mod rates;
mod responder;
mod stamped_socket;
#[cfg(test)]
mod tests;

pub use asker::{Batch, Exchange, Request, measure_batch};
pub use packet::Token;
pub use rates::{ClockReading, KernelClock, read_clocks};
pub use responder::{Counts, Responder};

/// Converts a reading of CLOCK_MONOTONIC to the clock of the asker or of the responder. Only tests use a clock other
/// than CLOCK_MONOTONIC.
pub type Clock = fn(i64) -> i64;

/// Returns this host's CLOCK_MONOTONIC reading unchanged.
pub fn host_clock(monotonic_ns: i64) -> i64 {
    monotonic_ns
}
