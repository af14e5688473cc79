//! The reference adapter, which passes frames on within one process.
//!
//! An adapter answers four questions. This adapter answers each question in the simplest way:
//!
//! | question | here |
//! |---|---|
//! | How do the two ends of a link find each other? | by its name, in a map of [`Receivers`] |
//! | Where is a frame written before it is sent? | in a pooled buffer ([`Pool`]) |
//! | How does a receiver wait? | not at all (called), or at a queue (polled) |
//! | When is memory used again? | when the last reference to the buffer is gone |
//!
//! `channel.rs` and `pool.rs` contain the mechanism; this file implements the contract.

mod channel;
mod pool;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::channel::{Queue, Receivers};
use crate::pool::{Frame, Pool};

/// An adapter's `main` function is a single call. It passes the adapter's name, its language, a function that opens the
/// transport, and the version of the adapted library.
fn main() -> ExitCode {
    node::main("memory", "rust", |setup| Ok(Arc::new(Memory::open(setup)?)), || env!("CARGO_PKG_VERSION").to_owned())
}

type Channel = Mutex<Receivers>;

/// There is one transport per process, which all endpoints share. The transport holds the state that both ends of a
/// link need.
struct Memory {
    channels: Links<Channel>,
    queue: usize,
}

impl Memory {
    /// hopmeter has already checked the settings against the manifest; `setting` only converts a setting to the
    /// requested type.
    fn open(setup: &Setup) -> Result<Self> {
        Ok(Self { channels: Links::default(), queue: setup.setting("queue")? })
    }
}

impl Transport for Memory {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(MemoryPublisher { channel: self.channels.of(link), pool: Pool::of(self.queue + 2) }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let (channel, queue) = (self.channels.of(link), Arc::new(Queue::of(self.queue)));
        lock(&channel).queues.push(queue.clone());
        Ok(Box::new(MemorySubscriber { channel, queue }))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        let channel = self.channels.of(link);
        let id = lock(&channel).add_call(on_frame);
        Ok(Box::new(MemorySubscription { channel, id }))
    }

    /// Report facts here that are known only after the run, or that only the run can prove.
    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".to_owned(), "memory of this process".to_owned())]
    }
}

struct MemoryPublisher {
    channel: Arc<Channel>,
    pool: Pool,
}

impl Publisher for MemoryPublisher {
    /// The last step of `fill` reads the sent time, so `send` calls `fill` last: the frame is ready, and the receivers
    /// are locked and have room.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut receivers = lock(&self.channel);
        if !receivers.has_room() {
            return Ok(Sent::Busy);
        }
        let Some(mut frame) = self.pool.take(payload_bytes) else { return Ok(Sent::Busy) };
        fill.write(frame.parts_mut().ok_or_else(|| Error::new("the pool returned a frame that is in use"))?);
        receivers.send(&frame);
        self.pool.give_back(frame);
        Ok(Sent::Accepted)
    }

    /// This transport forwards a frame by reference, so header and payload stay unchanged.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        let Some(frame) = received.native_as::<Frame>() else {
            return copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill));
        };
        let mut receivers = lock(&self.channel);
        if !receivers.has_room() {
            return Ok(Sent::Busy);
        }
        receivers.send(frame);
        Ok(Sent::Accepted)
    }
}

struct MemorySubscriber {
    channel: Arc<Channel>,
    queue: Arc<Queue>,
}

impl Subscriber for MemorySubscriber {
    /// `take` borrows the frame. When `poll` returns, the reference to the frame is dropped and the buffer is free.
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        match self.queue.pop(timeout) {
            Some(frame) => {
                take(lend(&frame));
                Ok(1)
            }
            None => Ok(0),
        }
    }
}

impl Drop for MemorySubscriber {
    fn drop(&mut self) {
        lock(&self.channel).queues.retain(|queue| !Arc::ptr_eq(queue, &self.queue));
    }
}

struct MemorySubscription {
    channel: Arc<Channel>,
    id: u64,
}

impl Subscription for MemorySubscription {}

/// Removing the callback takes the channel's lock, so no callback runs after `drop` has returned.
impl Drop for MemorySubscription {
    fn drop(&mut self) {
        lock(&self.channel).calls.retain(|(id, _)| *id != self.id);
    }
}

/// Converts a frame to the receivers' type, including the reference that `forward` and `keep` need.
fn lend(frame: &Frame) -> Received<'_> {
    let (header, payload) = frame.parts();
    Received::parts(header, payload).with_native(frame).with_keep(frame)
}

impl Keep for Frame {
    fn keep(&self) -> Box<dyn AsRef<[u8]> + Send> {
        Box::new(self.clone())
    }
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
