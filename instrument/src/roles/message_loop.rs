//! Sends the messages of a source or client in order: first the warm-up messages, then the samples. The loop ends after
//! the last message, at the time limit, or at an order to end. [`Pacer`] computes each due time; the message loop waits
//! until this time and makes the call.

use std::time::Duration;

use crate::clock;
use crate::error::Result;
use crate::frame::flags;
use crate::pacer::Pacer;

use super::RoleContext;

/// The last part of each pause, during which the pacer waits so that the message is on time. An order to end can
/// interrupt only pauses that are longer than twice this time.
const PACER_NS: i64 = 1_000_000_000;

/// One message to send or one call to make.
#[derive(Clone, Copy)]
pub struct Call {
    pub seq: u64,
    pub marks: u16,
    pub due_ns: i64,
    /// Whether the time limit has passed, which makes this message the last one.
    pub cut_short: bool,
}

impl Call {
    pub fn is_sample(&self) -> bool {
        self.marks & flags::WARMUP == 0
    }
}

/// Waits for the due time of every call of one pair, in order.
pub struct MessageLoop {
    start_ns: i64,
    pacer: Pacer,
    /// The number of messages that have been due so far, including warm-up messages.
    index: u64,
    is_cut_short: bool,
    spun_in_warmup_ns: i64,
}

impl MessageLoop {
    pub fn new(context: &RoleContext<'_>, start_ns: i64) -> Self {
        let pacer = Pacer::of_flow(context.flow, context.content.recording(), start_ns);
        Self { start_ns, pacer, index: 0, is_cut_short: false, spun_in_warmup_ns: 0 }
    }

    /// Waits for each due time and calls `call` with the size of the next payload. `call` returns how long before the
    /// next due time the next call must begin. Returns the time spent spinning during the measurement, because spinning
    /// is not part of the transport's cost.
    pub fn run(mut self, context: &RoleContext<'_>, mut call: impl FnMut(Call, usize) -> Result<i64>) -> Result<i64> {
        let mut lead_ns = 0;
        while let Some(due) = self.next(context, lead_ns) {
            lead_ns = call(due, self.next_bytes(context))?;
        }
        Ok(self.spun_ns())
    }

    /// Returns the size of the payload that is due next.
    pub fn next_bytes(&self, context: &RoleContext<'_>) -> usize {
        let recorded = context.content.recording().and_then(|recording| recording.bytes_at(self.index));
        recorded.unwrap_or(context.flow.payload_bytes)
    }

    /// Waits until `lead_ns` before the next message is due. Returns `None` after the last message.
    pub fn next(&mut self, context: &RoleContext<'_>, lead_ns: i64) -> Option<Call> {
        let (flow, index) = (context.flow, self.index);
        if self.is_cut_short || index == flow.warmup + flow.messages {
            return None;
        }
        self.index += 1;
        self.begin(context, index);
        let due_ns = self.pacer.next_ns();
        let at_ns = due_ns.unwrap_or_else(|| clock::now_ns().max(self.start_ns));
        self.is_cut_short = at_ns.max(clock::now_ns()) - self.start_ns >= context.spec.limit_ns;
        if !self.await_due(context, at_ns - lead_ns) {
            return None;
        }
        let warming = index < flow.warmup;
        let last = self.is_cut_short || index + 1 == flow.warmup + flow.messages;
        Some(Call {
            seq: if warming { index } else { index - flow.warmup },
            marks: if warming { flags::WARMUP } else { 0 } | if last { flags::LAST } else { 0 },
            due_ns: due_ns.unwrap_or_else(clock::now_ns),
            cut_short: self.is_cut_short,
        })
    }

    /// Waits until the due time. Returns whether the trial continues.
    fn await_due(&mut self, context: &RoleContext<'_>, due_ns: i64) -> bool {
        let left_ns = due_ns - clock::now_ns();
        if left_ns > 2 * PACER_NS {
            context.phase.wait_for_stop_within(Duration::from_nanos((left_ns - PACER_NS) as u64));
        }
        if context.phase.has_stopped() {
            return false;
        }
        self.pacer.wait_until(due_ns);
        true
    }

    /// Waits for the start before the first message, and begins the measurement before the first sample. `index` counts
    /// from the first warm-up message.
    fn begin(&mut self, context: &RoleContext<'_>, index: u64) {
        if index == 0 {
            self.await_due(context, self.start_ns + context.flow.pace.first_ns - 1_000_000);
        }
        if index == context.flow.warmup {
            context.meter.begin();
            self.spun_in_warmup_ns = self.pacer.spun_ns();
        }
    }

    /// Returns whether the time limit ended the schedule before its last message.
    pub fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    /// Returns the time spent spinning during the measurement.
    pub fn spun_ns(&self) -> i64 {
        self.pacer.spun_ns() - self.spun_in_warmup_ns
    }
}
