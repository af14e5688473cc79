//! The adapter for POSIX message queues: a queue for each receiver, and one frame in each message. ../../README.md
//! describes how receivers join.

mod queue;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use hopmeter_streams::fifo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::queue::{LARGEST, Queue};

/// How often a publisher checks for more receivers after the expected number has joined.
const LOOK: Duration = Duration::from_millis(10);

struct Queues {
    directory: PathBuf,
    run: String,
    depth: usize,
}

impl Transport for Queues {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let (entrance, address) = fifo::listen(&self.directory, &link.name)?;
        Ok(Box::new(MqPublisher {
            entrance,
            address,
            receivers: Vec::new(),
            expected: link.receivers as usize,
            looked: Instant::now(),
            buffer: vec![0; link.frame_bytes.min(LARGEST)],
        }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let (mut queue, bytes) = (None, link.frame_bytes.min(LARGEST));
        let joined = fifo::connect(&link.address, &format!("{}_", self.run), |name| {
            queue = Some(Queue::create(name, self.depth, bytes, link.wait == Wait::Block)?);
            Ok(())
        })?;
        let queue = queue.expect("created before joining");
        Ok(Box::new(MqSubscriber { queue, _life: joined.pipe, buffer: vec![0; bytes] }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".to_owned(), "POSIX message queues".to_owned())]
    }
}

/// What a publisher knows about a receiver.
struct Receiver {
    queue: Queue,
    /// A pipe that the receiver keeps open as long as it lives.
    life: OwnedFd,
}

impl Receiver {
    /// Whether the receiver has closed its pipe or was killed. The queue of a disconnected receiver still exists,
    /// because the publisher has the queue open.
    fn has_gone(&self) -> bool {
        let mut place = [PollFd::new(&self.life, PollFlags::empty())];
        let looked = poll(&mut place, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        looked.is_ok() && place[0].revents().contains(PollFlags::ERR)
    }
}

struct MqPublisher {
    entrance: OwnedFd,
    address: String,
    receivers: Vec<Receiver>,
    expected: usize,
    looked: Instant,
    buffer: Vec<u8>,
}

impl MqPublisher {
    /// Adds the receivers that have joined.
    fn admit(&mut self) -> Result<()> {
        let folder = Path::new(&self.address).parent().unwrap_or(Path::new("/"));
        while let Some(joined) = fifo::accept(&self.entrance, folder)? {
            // A receiver that has disconnected meanwhile has removed its queue.
            let Ok(queue) = Queue::open(&joined.name) else { continue };
            self.receivers.push(Receiver { queue, life: joined.pipe });
        }
        self.looked = Instant::now();
        Ok(())
    }

    /// Whether every queue has room, so that no receiver gets a frame twice. If there is only one queue, it needs no
    /// check, because the send itself reports a full queue.
    fn has_room(&mut self) -> bool {
        if self.receivers.len() < 2 {
            return true;
        }
        self.receivers.retain(|receiver| !receiver.queue.is_full() || !receiver.has_gone());
        !self.receivers.iter().any(|receiver| receiver.queue.is_full())
    }
}

/// Sends a frame to every queue. If a queue is full, returns busy; if the queue's receiver has disconnected, removes
/// the receiver.
fn send_to_all(receivers: &mut Vec<Receiver>, frame: &[u8]) -> Result<Sent> {
    let mut full = None;
    for (index, receiver) in receivers.iter().enumerate() {
        if receiver.queue.send(frame)? == Sent::Busy {
            full = Some(index);
        }
    }
    match full {
        Some(index) if receivers[index].has_gone() => drop(receivers.remove(index)),
        Some(_) => return Ok(Sent::Busy),
        None => {}
    }
    Ok(Sent::Accepted)
}

impl Publisher for MqPublisher {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if self.receivers.len() < self.expected {
            self.admit()?;
        }
        if !self.has_room() {
            return Ok(Sent::Busy);
        }
        let (bytes, limit) = (HEADER_BYTES + payload_bytes, self.buffer.len());
        let frame = self.buffer.get_mut(..bytes).ok_or_else(|| {
            Error::new(format!("a frame of {bytes} bytes, but the limit is {limit}")).remedy(format!(
                "a message in these queues has at most {LARGEST} bytes: send smaller messages, or use unix"
            ))
        })?;
        fill.write(FrameMut::split(frame));
        let sent = send_to_all(&mut self.receivers, frame)?;
        if self.looked.elapsed() > LOOK {
            self.admit()?; // after the send, so that the check delays no frame
        }
        Ok(sent)
    }
}

impl Drop for MqPublisher {
    fn drop(&mut self) {
        let _ = rustix::fs::unlink(&self.address); // the launcher removes the folder anyway
    }
}

struct MqSubscriber {
    queue: Queue,
    /// The open pipe, which shows the publisher that this receiver is alive.
    _life: OwnedFd,
    buffer: Vec<u8>,
}

impl Subscriber for MqSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(bytes) = self.queue.receive(&mut self.buffer, timeout)? else { return Ok(0) };
        take(Received::split(&self.buffer[..bytes]));
        Ok(1)
    }
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    let depth = setup.setting("depth")?;
    Ok(Arc::new(Queues { directory: setup.directory.clone(), run: setup.run.clone(), depth }))
}

fn main() -> ExitCode {
    node::main("mq", "rust", open, hopmeter_streams::version)
}
