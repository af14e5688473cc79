//! The ring behind hopmeter's `shm` transport: slots in a memfd, one producer, up to 64 consumers.
//!
//! The producer writes a frame where the consumers read it. There is no copy, no name in the file system, and no
//! leftover. `README.md` next to this crate has the layout of the segment and the argument for its memory ordering.

pub mod abi;
mod admission;
mod bell;
mod consumer;
mod handshake;
mod layout;
mod producer;
mod registry;
mod room;
mod segment;

pub use consumer::{Claimed, Consumer, Interrupter};
pub use layout::{Geometry, MAX_CONSUMERS, MAX_PAYLOAD_BYTES, MAX_SLOTS, MIN_SLOTS};
pub use producer::{Loan, Options, Producer, WhenFull};
