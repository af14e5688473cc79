//! The empty transport, whose `send` fills a frame and calls the receiver with the frame.
//!
//! If the receiver runs on the sender's thread, the latency over the empty transport is the overhead of the instrument
//! itself. C++ and Python have their own empty transports (`empty.hpp`, `empty.py`), because the instrument's overhead
//! differs between languages.

use std::sync::{Arc, Mutex};

use crate::contract::{
    Fill, FrameMut, Link, OnFrame, Publisher, Received, Sent, Setup, Subscription, Transport as Contract,
};
use crate::error::Result;
use crate::frame::HEADER_BYTES;
use crate::sync::lock;

/// Opens the empty transport; `open` has the signature of the function that opens a node's transport.
pub fn open(_: &Setup) -> Result<Arc<dyn Contract>> {
    Ok(Arc::new(Empty::default()))
}

/// The callback of the link's only receiver, or `None` until the receiver has subscribed.
type Receiver = Arc<Mutex<Option<OnFrame>>>;

#[derive(Default)]
struct Empty(Receiver);

impl Contract for Empty {
    fn publisher(&self, _: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(DirectPublisher { receiver: self.0.clone(), frame: Vec::new() }))
    }

    fn subscribe(&self, _: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        *lock(&self.0) = Some(on_frame);
        Ok(Box::new(DirectSubscription(self.0.clone())))
    }
}

struct DirectPublisher {
    receiver: Receiver,
    frame: Vec<u8>,
}

impl Publisher for DirectPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.frame.resize(HEADER_BYTES + payload_bytes, 0);
        let mut receiver = lock(&self.receiver);
        let Some(on_frame) = receiver.as_mut() else { return Ok(Sent::Busy) };
        fill.write(FrameMut::split(&mut self.frame));
        on_frame.call(Received::split(&self.frame));
        Ok(Sent::Accepted)
    }
}

struct DirectSubscription(Receiver);

impl Subscription for DirectSubscription {}

impl Drop for DirectSubscription {
    fn drop(&mut self) {
        drop(lock(&self.0).take());
    }
}
