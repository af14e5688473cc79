//! The ring of hopmeter's `shm` transport, for callers in Rust and C.
//!
//! The ring itself is part of the instrument, which also uses it for bridges between two processes of one participant.
//! The `README.md` of this transport explains the layout of the segment and why its memory ordering is correct.

pub mod abi;
pub mod c_results;

pub use hopmeter_instrument::shm_ring::*;
