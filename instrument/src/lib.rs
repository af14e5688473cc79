//! The one measuring instrument of hopmeter. The instrument knows no transport by name; adapters implement
//! [`contract`].

pub mod affinity;
pub mod alarm;
mod arguments;
pub mod background;
mod causes;
pub mod clock;
pub mod clock_exchange;
pub mod codec;
pub mod codec_library;
pub mod contract;
mod control;
pub mod copying;
pub mod cost;
mod duplex;
pub mod empty;
pub mod error;
pub mod frame;
pub mod links;
mod listen_limit;
pub mod loan;
mod memory;
pub mod node;
pub mod noise;
pub mod pacer;
pub mod payload;
mod permits;
mod phase;
pub mod polling;
pub mod prelude;
pub mod recorder;
mod recording;
mod resources;
mod roles;
mod scripted_node;
pub mod shm_ring;
pub mod spec;
pub mod sync;
mod thread_log;
pub mod typed;
pub mod version;

pub use contract::*;
pub use error::{Context, Error, Result};
