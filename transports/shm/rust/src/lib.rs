//! The ring behind hopmeter's `shm` transport: slots in a memfd, one producer, up to 64 consumers.
//!
//! The producer writes a frame into the memory from which the consumers read it. So the ring makes no copy, uses no
//! name in the file system, and leaves no file. `README.md` next to this crate explains the layout of the segment and
//! why its memory ordering is correct.

pub mod abi;
mod admission;
mod bell;
pub mod c_results;
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
