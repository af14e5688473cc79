//! A transport for testing hopmeter itself: a test can compute from the settings what happens to each message.
//!
//! Frames pass through a ring of the transport `shm`. The sender appends the departure time to each frame. The receiver
//! executes the plan: it holds each frame until the frame is due, and it loses, repeats, reorders or corrupts frames.
//! The receiver reads only the sequence number and the flags of a header.

pub mod abi;
mod departure;
mod held;
mod outage;
mod plan;
mod receiver;
mod sender;

pub use plan::Plan;
pub use receiver::Receiver;
pub use sender::Sender;
