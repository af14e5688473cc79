//! The ring behind hopmeter's `shm` transport for callers in Rust and C.
//!
//! The ring itself is a part of the instrument, which uses it too: to pass messages on between two processes of one
//! participant. `README.md` next to this crate explains the layout of the segment and why its memory ordering is
//! correct.

pub mod abi;
pub mod c_results;

pub use hopmeter_instrument::shm_ring::*;
