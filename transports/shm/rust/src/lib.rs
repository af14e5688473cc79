//! The ring of hopmeter's `shm` transport, for callers in Rust and C.
//!
//! The ring is part of the instrument, which also uses it for bridges between two processes of a participant. The
//! `README.md` of the transport explains the segment's layout and why its memory ordering is correct.

pub mod abi;
pub mod c_results;

pub use hopmeter_instrument::shm_ring::*;
