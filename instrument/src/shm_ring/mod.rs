//! Implements the ring of the transport `shm`, and of bridges between two processes of one participant. A ring has
//! slots in a memfd, one producer and up to 64 consumers.
//!
//! The producer writes a frame directly into the memory from which the consumers read it, so the ring makes no copies.
//! The memfd has no name in the file system, so no file remains after the processes have ended.
//! `transports/shm/README.md` explains the segment layout and why its memory ordering is correct.

mod admission;
mod bell;
mod consumer;
mod handshake;
mod layout;
mod producer;
mod registry;
mod room;
mod segment;
mod transport;

pub use consumer::{Claimed, Consumer, Interrupter};
pub use layout::{Geometry, MAX_CONSUMERS, MAX_PAYLOAD_BYTES, MAX_SLOTS, MIN_SLOTS};
pub use producer::{Loan, Options, Producer, WhenFull};
pub use transport::RingTransport;
