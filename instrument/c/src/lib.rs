//! The C ABI of the instrument, for adapters in C++ or any other language that can call C functions. An adapter passes
//! function tables to the instrument, and has the same roles, clock and recorder as an adapter in Rust.
//! `cpp/include/hopmeter/abi.h` is generated from [`abi`], [`calls`], [`settings`], [`frames`] and [`entry`].

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
