//! The C ABI of the instrument. An adapter in C++, or in any language that can call C functions, passes tables of
//! functions to the instrument. Such an adapter runs in the same roles, with the same clock and recorder, as an adapter
//! in Rust. `cpp/include/hopmeter/abi.h` is generated from [`abi`], [`calls`], [`settings`], [`frames`] and [`entry`].

pub mod abi;
pub mod calls;
mod end_handle;
pub mod entry;
pub mod frames;
mod loan;
mod pubsub;
mod rpc;
pub mod settings;
mod text;
mod transport;
mod typed;

#[cfg(test)]
mod tests;
