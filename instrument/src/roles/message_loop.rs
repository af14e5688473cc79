//! The messages of a source or client in their order: warm-up, then samples, until the last message or the time limit.
//! [`Pacer`] decides when each is due; this loop waits for that time and makes the call.

use crate::clock;
use crate::error::Result;
use crate::frame::flags;
use crate::pacer::Pacer;

use super::RoleContext;

/// One message or call.
#[derive(Clone, Copy)]
pub struct Call {
    pub seq: u64,
    pub marks: u16,
    pub intended_ns: i64,
    /// The time limit has passed: this message is the last one.
    pub cut_short: bool,
}

impl Call {
    pub fn is_sample(&self) -> bool {
        self.marks & flags::WARMUP == 0
    }
}

/// Makes all calls of one pair, in order.
pub struct MessageLoop {
    start_ns: i64,
    pacer: Pacer,
    lead_ns: i64,
    spun_in_warmup_ns: i64,
}

impl MessageLoop {
    pub fn new(context: &RoleContext<'_>, start_ns: i64) -> Self {
        Self { start_ns, pacer: Pacer::new(context.flow.pace, start_ns), lead_ns: 0, spun_in_warmup_ns: 0 }
    }

    /// Waits for each due time and makes the call. `call` returns how long before its due time the next call must
    /// begin, so that its payload is ready in time. Returns the time spent spinning while measuring, which is no cost
    /// of the transport.
    pub fn run(mut self, context: &RoleContext<'_>, mut call: impl FnMut(Call) -> Result<i64>) -> Result<i64> {
        clock::sleep_until(self.start_ns - 1_000_000);
        for index in 0..context.flow.warmup + context.flow.messages {
            if index == context.flow.warmup {
                context.meter.begin();
                self.spun_in_warmup_ns = self.pacer.spun_ns();
            }
            let due = self.next(context, index);
            self.lead_ns = call(due)?;
            if due.cut_short {
                break;
            }
        }
        Ok(self.pacer.spun_ns() - self.spun_in_warmup_ns)
    }

    /// Waits until message `index` is due. The index counts from the first warm-up message.
    fn next(&mut self, context: &RoleContext<'_>, index: u64) -> Call {
        let flow = context.flow;
        let planned_ns = self.pacer.next_ns();
        let due_ns = planned_ns.unwrap_or_else(|| clock::now_ns().max(self.start_ns));
        let cut_short = due_ns.max(clock::now_ns()) - self.start_ns >= context.spec.limit_ns;
        self.pacer.wait_until(due_ns - self.lead_ns);
        let warming = index < flow.warmup;
        let last = cut_short || index + 1 == flow.warmup + flow.messages;
        Call {
            seq: if warming { index } else { index - flow.warmup },
            marks: if warming { flags::WARMUP } else { 0 } | if last { flags::LAST } else { 0 },
            intended_ns: planned_ns.unwrap_or_else(clock::now_ns),
            cut_short,
        }
    }
}
