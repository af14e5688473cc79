//! The ring of the transport `shm`, and of the bridges between two processes of one participant. A ring has slots in a
//! memfd, one producer and up to 64 consumers.
//!
//! The producer writes a frame into the memory from which the consumers read it. So the ring makes no copies, has no
//! name in the file system, and leaves no file behind. `transports/shm/README.md` explains the layout of the segment
//! and why its memory ordering is correct.

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
