//! Holds a follower's state in its node: the arrivals that it still waits for, and the work and messages that arrivals
//! trigger.

use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::clock;
use crate::control::Tally;
use crate::error::Result;
use crate::frame::{Header, flags};
use crate::spec::Endpoint;
use crate::sync::lock;

use super::RoleContext;
use super::follower::Sender;
use super::joining::{Arrived, CausedBy, Joining};
use super::passed::Passed;
use super::work::Worker;

/// A follower's state, shared with the receiving threads of its node.
pub struct Following {
    after: Vec<u32>,
    /// The number of messages that the follower sends per triggering arrival.
    repeat: u32,
    /// One handler for each message that may be handled concurrently. The list is empty until the sending end is open.
    handlers: OnceLock<Vec<Mutex<Handler>>>,
    follower: Mutex<Follower>,
}

/// The work for one message, and the arrivals that triggered the message.
struct Handler {
    worker: Worker,
    causes: CausedBy,
}

struct Follower {
    joining: Joining,
    /// The sending end. `None` until the endpoint has tested its link, and again after the measurement.
    sender: Option<Sender>,
    /// The number of arrivals for which not all messages have been sent.
    under_way: u32,
}

impl Following {
    pub fn new(me: &Endpoint) -> Self {
        Self {
            after: me.after.clone(),
            repeat: me.repeat.max(1),
            handlers: OnceLock::new(),
            follower: Mutex::new(Follower { joining: Joining::new(me), sender: None, under_way: 0 }),
        }
    }

    pub fn follows(&self, endpoint: u32) -> bool {
        self.after.contains(&endpoint)
    }

    /// Lets the receiving threads send through `sender`. The node handles up to `threads` messages concurrently, or one
    /// at a time if the spec does not set `threads`.
    pub fn lend(&self, context: &RoleContext<'_>, sender: Sender) -> Result<()> {
        let many = self.after.len();
        let handler =
            |_| Ok(Mutex::new(Handler { worker: Worker::new(context)?, causes: CausedBy::with_capacity(many) }));
        let handlers = (0..context.spec.threads.max(1)).map(handler).collect::<Result<Vec<_>>>()?;
        let _ = self.handlers.set(handlers);
        lock(&self.follower).sender = Some(sender);
        Ok(())
    }

    pub fn take_back(&self) -> Option<Sender> {
        lock(&self.follower).sender.take()
    }

    /// Adds the counts of the work to the counts of the follower.
    pub fn settle(&self, tally: Tally) -> Tally {
        let handlers = self.handlers.get().into_iter().flatten();
        handlers.fold(tally, |tally, handler| lock(handler).worker.settle(tally))
    }

    /// Does the work for an arrival and sends the messages that the arrival triggers. The due time of these messages is
    /// `arrived_ns`, the time of the arrival. The work for one message does not delay other messages.
    pub fn handle(&self, endpoint: u32, header: &Header, arrived_ns: i64, payload: &[u8]) {
        let Some(mut handler) = self.free_handler() else { return };
        let Handler { worker, causes } = &mut *handler;
        if !lock(&self.follower).admit(endpoint, header, causes, arrived_ns) {
            return;
        }
        let (passed, mut due_ns) = (Passed::of(header, payload), arrived_ns);
        for number in 1..=self.repeat {
            worker.work_on(header, payload);
            let mut follower = lock(&self.follower);
            let is_final = number == self.repeat || follower.is_over();
            follower.send(header.flags & flags::WARMUP, causes, due_ns, passed, is_final);
            drop(follower);
            worker.prepare_next();
            if is_final {
                break;
            }
            due_ns = clock::now_ns();
        }
    }

    /// Returns a handler that no other thread uses. If all handlers are in use, waits for a free handler.
    fn free_handler(&self) -> Option<MutexGuard<'_, Handler>> {
        let handlers = self.handlers.get()?;
        let free = handlers.iter().find_map(|handler| handler.try_lock().ok());
        free.or_else(|| handlers.first().map(lock))
    }
}

impl Follower {
    /// Adds an arrival. Returns whether the arrival triggers messages of this follower.
    fn admit(&mut self, endpoint: u32, header: &Header, causes: &mut CausedBy, arrived_ns: i64) -> bool {
        match self.joining.add(endpoint, header, causes) {
            Some(Arrived::Message) => {
                self.under_way += 1;
                true
            }
            Some(Arrived::End) if self.under_way == 0 => {
                self.send_marked(flags::WARMUP | flags::LAST, &CausedBy::new(), arrived_ns, None);
                false
            }
            _ => false,
        }
    }

    /// Sends one message of the follower. The final message for the last arrival has the flag `LAST`.
    fn send(&mut self, marks: u16, causes: &CausedBy, due_ns: i64, passed: Passed<'_>, is_final: bool) {
        self.under_way -= u32::from(is_final);
        let is_last = is_final && self.under_way == 0 && self.joining.has_ended();
        self.send_marked(marks | if is_last { flags::LAST } else { 0 }, causes, due_ns, Some(passed));
    }

    fn send_marked(&mut self, marks: u16, causes: &CausedBy, due_ns: i64, passed: Option<Passed<'_>>) {
        if let Some(sender) = &mut self.sender {
            sender.send(marks, causes, due_ns, passed);
        }
    }

    /// Returns whether the time of the trial is up, so that no more messages are sent.
    fn is_over(&self) -> bool {
        self.sender.as_ref().is_none_or(Sender::is_over)
    }
}
