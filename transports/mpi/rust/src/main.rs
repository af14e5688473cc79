//! The adapter for Open MPI: each node is a rank of one job, and each frame is one message. `../../README.md` describes
//! how receivers join.

mod job;
mod messages;

use std::collections::HashSet;
use std::fs;
use std::mem::take;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::job::Job;
use crate::messages::{Buffer, Place, Request, next_number};

/// How often a publisher checks for additional receivers after the expected ones have joined.
const LOOK: Duration = Duration::from_millis(10);
/// How long `send` waits, like MPI_Send, until the library no longer needs the frame.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long a link end that closes waits for its unfinished messages.
const PARTING: Duration = Duration::from_millis(100);
const MOST_BYTES: usize = 64 << 20;
const MOST_FRAMES: usize = 64;

struct Mpi {
    job: Arc<Job>,
}

impl Transport for Mpi {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        let frames = (MOST_BYTES / link.frame_bytes).clamp(2, MOST_FRAMES);
        Ok(Box::new(MpiPublisher {
            tag: self.job.next_tag(),
            job: self.job.clone(),
            expected: link.receivers as usize,
            frame_bytes: link.frame_bytes,
            frames: (0..frames).map(|_| Buffer::default()).collect(),
            receivers: Vec::new(),
            looked: Instant::now(),
            is_unfinished: false,
        }))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let parts = link.address.split_once(':').and_then(|(pid, tag)| Some((pid.parse().ok()?, tag.parse().ok()?)));
        let (pid, publisher_tag) =
            parts.ok_or_else(|| Error::new(format!("the address {} is not PID:TAG", link.address)))?;
        Ok(Box::new(MpiSubscriber {
            tag: self.job.next_tag(),
            job: self.job.clone(),
            pid,
            publisher: Place { rank: -1, tag: publisher_tag },
            request: None,
            buffer: vec![0; link.frame_bytes],
        }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), path().into())]
    }
}

struct MpiPublisher {
    job: Arc<Job>,
    tag: i32,
    expected: usize,
    frame_bytes: usize,
    /// The frames, with a request for each receiver that may still need a frame.
    frames: Vec<Buffer>,
    receivers: Vec<Place>,
    looked: Instant,
    is_unfinished: bool,
}

impl MpiPublisher {
    fn are_all_done(&mut self) -> Result<bool> {
        let now = Instant::now();
        self.frames.iter_mut().try_fold(true, |done, frame| Ok(done && frame.is_done_by(now)?))
    }

    fn note_unfinished(&mut self, is_unfinished: bool) {
        if is_unfinished != self.is_unfinished {
            self.job.count_unfinished(if is_unfinished { 1 } else { -1 });
        }
        self.is_unfinished = is_unfinished;
    }

    /// Returns the index of a frame that MPI no longer needs, or `None` if MPI needs all frames.
    fn free_frame(&mut self) -> Result<Option<usize>> {
        for (index, frame) in self.frames.iter_mut().enumerate() {
            if frame.requests.is_empty() || frame.is_done_by(Instant::now())? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Adds receivers that have joined, and removes receivers that have left.
    fn admit(&mut self) -> Result<()> {
        self.looked = Instant::now();
        while let Some((tag, rank)) = next_number(self.tag)? {
            if tag > 0 {
                self.receivers.push(Place { rank, tag });
            } else {
                self.remove(|place| place == Place { rank, tag: -tag });
            }
        }
        Ok(())
    }

    /// Removes receivers whose processes have ended without closing the receiver.
    fn remove_killed(&mut self) -> Result<()> {
        self.admit()?;
        let ranks = self.job.ranks()?.unwrap_or_default().to_vec();
        let is_alive = |pid| Pid::from_raw(pid).is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH));
        self.remove(|place| !is_alive(ranks[place.rank as usize]));
        Ok(())
    }

    /// Removes receivers. MPI may need their unfinished frames until the end, so the publisher replaces these frames.
    fn remove(&mut self, has_gone: impl Fn(Place) -> bool) {
        self.receivers.retain(|place| !has_gone(*place));
        for frame in &mut self.frames {
            if frame.requests.iter().any(|(_, place)| has_gone(*place)) {
                let _ = self.job.release(take(frame), Instant::now()); // an error concerns receivers that have gone
            }
        }
    }
}

impl Publisher for MpiPublisher {
    fn address(&self) -> String {
        format!("{}:{}", process::id(), self.tag)
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if self.job.ranks()?.is_none() {
            self.job.start()?;
            return Ok(Sent::Busy);
        }
        if self.receivers.len() < self.expected {
            self.admit()?;
        }
        if self.is_unfinished {
            let all_done = self.are_all_done()?;
            self.note_unfinished(!all_done);
        }
        let Some(index) = self.free_frame()? else {
            self.remove_killed()?;
            return Ok(Sent::Busy);
        };
        let frame = &mut self.frames[index];
        frame.memory.resize(self.frame_bytes, 0);
        let bytes = &mut frame.memory[..HEADER_BYTES + payload_bytes];
        fill.write(FrameMut::split(bytes));
        for receiver in &self.receivers {
            // SAFETY: the memory is used again only after its requests are done; `Job::release` keeps it until then.
            frame.requests.push((unsafe { Request::send(bytes, *receiver)? }, *receiver));
        }
        if !frame.is_done_by(Instant::now() + PATIENCE)? {
            self.note_unfinished(true);
        }
        if self.looked.elapsed() > LOOK {
            self.admit()?; // after the send, so that the check delays no frame
        }
        Ok(Sent::Accepted)
    }
}

impl Drop for MpiPublisher {
    fn drop(&mut self) {
        let until = Instant::now() + PARTING;
        for frame in &mut self.frames {
            let _ = self.job.release(take(frame), until); // the receivers may have gone
        }
        self.note_unfinished(false);
    }
}

struct MpiSubscriber {
    job: Arc<Job>,
    pid: i32,
    publisher: Place,
    tag: i32,
    request: Option<Request>,
    buffer: Vec<u8>,
}

impl MpiSubscriber {
    /// Joins the publisher if this process is already a rank of the job.
    fn join(&mut self) -> Result<()> {
        let Some(ranks) = self.job.ranks()? else { return Ok(()) };
        let rank = ranks.iter().position(|pid| *pid == self.pid).ok_or_else(|| {
            Error::new("the sender's process is not in the MPI job of this process")
                .remedy("start all processes before the first message: no process can join an MPI job later")
        })?;
        self.publisher.rank = rank as i32;
        self.receive_next()?;
        self.tell(self.tag)
    }

    fn receive_next(&mut self) -> Result<()> {
        let from = Place { rank: self.publisher.rank, tag: self.tag };
        // SAFETY: the buffer is used again only after the request is done; `Job::release` keeps it until then.
        self.request = Some(unsafe { Request::receive(&mut self.buffer, from)? });
        Ok(())
    }

    /// Sends the publisher this receiver's tag to join, or its negative tag to leave.
    fn tell(&self, tag: i32) -> Result<()> {
        let memory = tag.to_ne_bytes().to_vec();
        // SAFETY: `Job::release` keeps the memory until the request is done.
        let request = unsafe { Request::send(&memory, self.publisher)? };
        self.job.release(Buffer { memory, requests: vec![(request, self.publisher)] }, Instant::now() + PARTING)
    }
}

impl Subscriber for MpiSubscriber {
    fn poll(&mut self, _timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(request) = &mut self.request else {
            self.join()?;
            return Ok(0);
        };
        let Some(bytes) = request.test()? else { return Ok(0) };
        take(Received::split(&self.buffer[..bytes]));
        self.receive_next()?;
        Ok(1)
    }
}

impl Drop for MpiSubscriber {
    fn drop(&mut self) {
        if let Some(mut request) = self.request.take() {
            let _ = self.tell(-self.tag); // the publisher may have gone
            request.cancel();
            let buffer = Buffer { memory: take(&mut self.buffer), requests: vec![(request, self.publisher)] };
            let _ = self.job.release(buffer, Instant::now() + PARTING);
        }
    }
}

/// Returns how the bytes travel. With `vader`, a process maps its own segment, and one of each rank it reaches.
fn path() -> &'static str {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let segments: HashSet<&str> =
        maps.lines().filter_map(|line| line.split_once("/vader_segment.")).map(|(_, name)| name).collect();
    if segments.len() > 1 { "shared memory (BTL vader)" } else { "TCP on the loopback device (BTL tcp)" }
}

fn version() -> String {
    let said = mpi::environment::library_version().unwrap_or_default();
    let library = said.split(',').next().unwrap_or_default();
    format!("{library}, mpi {}", library_version!("mpi"))
}

fn main() -> ExitCode {
    node::main("mpi", "rust", |setup| Ok(Arc::new(Mpi { job: Arc::new(Job::new(setup)?) })), version)
}
