//! A transport with known behaviour, for testing hopmeter itself: from the settings, a test can compute what happens to
//! each message.
//!
//! Frames travel through a ring of the transport `shm`. The sender appends the departure time to each frame. The
//! receiver executes the plan: it holds the frames until they are due, and loses, repeats, reorders or corrupts them.
//! Of a frame's header, it reads only the sequence number, whether the frame is a sample, and whether it is the last
//! one.

pub mod abi;
mod departure;
mod held;
mod plan;
mod receiver;
mod sender;

pub use plan::Plan;
pub use receiver::Receiver;
pub use sender::Sender;
