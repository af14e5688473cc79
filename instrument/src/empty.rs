//! No transport at all: a frame is filled, and the receiver is called with it.
//!
//! What this takes is the instrument's own part of a hop whose receiver runs on the sender's thread. C++ and Python have
//! the same in their own language (`empty.hpp`, `empty.py`), since their part of the way differs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::contract::{
    Fill, FrameMut, Link, OnFrame, Publisher, Received, Sent, Setup, Subscription, Transport as Contract,
};
use crate::error::Result;
use crate::frame::HEADER_BYTES;

/// Opens it, as a node opens its transport.
///
/// # Errors
/// None.
pub fn open(_: &Setup) -> Result<Arc<dyn Contract>> {
    Ok(Arc::new(Empty::default()))
}

/// The one receiver that there may be.
type Called = Arc<Mutex<Option<OnFrame>>>;

fn held(called: &Called) -> MutexGuard<'_, Option<OnFrame>> {
    called.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Empty(Called);

impl Contract for Empty {
    fn publisher(&self, _: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(Caller { called: self.0.clone(), frame: Vec::new() }))
    }

    fn subscribe(&self, _: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        *held(&self.0) = Some(on_frame);
        Ok(Box::new(Registered(self.0.clone())))
    }
}

struct Caller {
    called: Called,
    frame: Vec<u8>,
}

impl Publisher for Caller {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.frame.resize(HEADER_BYTES + payload_bytes, 0);
        let mut called = held(&self.called);
        let Some(on_frame) = called.as_mut() else { return Ok(Sent::Busy) };
        fill.write(FrameMut::split(&mut self.frame));
        on_frame.call(Received::split(&self.frame));
        Ok(Sent::Accepted)
    }
}

struct Registered(Called);

impl Subscription for Registered {}

impl Drop for Registered {
    fn drop(&mut self) {
        drop(held(&self.0).take());
    }
}
