//! Measures the empty hop: the latency of a message without a transport, which is the instrument's own overhead.
//!
//! If a receiver's callback runs on the sender's thread, a message arrives within tens of nanoseconds. At such low
//! latencies, the cost of the instrument is significant. At one message every 30 ms, no code is in the caches, not even
//! the instrument's code. Therefore, before the cell begins, the source sends a few messages to itself through
//! [`crate::empty`], at the cell's rate and size. The latency of these messages is reported next to the cell's
//! latencies.

use std::sync::{Arc, Mutex};

use crate::clock;
use crate::contract::{Link, OnFrame, Publisher, Received};
use crate::error::Result;
use crate::frame::{HEADER_BYTES, Header, flags};
use crate::pacer::Pacer;
use crate::spec::Wait;
use crate::sync::lock;

use super::RoleContext;
use super::emit::Emitter;
use super::ends::new_deadline;
use super::intake::Intake;

/// The number of messages, including the warm-up messages at the start.
const HOPS: u64 = 20;
const WARMUP_HOPS: usize = 3;
/// The minimum rate for an empty hop. At a lower rate, the 20 messages of an empty hop take too long.
const LOWEST_RATE_HZ: f64 = 9.0;

/// Returns the median time from sending to arrival, in nanoseconds. Returns `None` if no receiver uses a callback, if
/// the cell is not paced, or if the cell's messages carry objects.
pub fn measure(context: &RoleContext<'_>) -> Result<Option<i64>> {
    if !applies(context) {
        return Ok(None);
    }
    let transport = (context.open_empty)()?;
    let link = empty_link(context);
    let took_ns = Arc::new(Mutex::new(Vec::with_capacity(HOPS as usize)));
    let subscription = transport.subscribe(&link, receiver(context, took_ns.clone()))?;
    send_all(context, transport.publisher(&link)?.as_mut())?;
    drop(subscription);
    let took_ns = std::mem::take(&mut *lock(&took_ns));
    Ok(median(took_ns.get(WARMUP_HOPS..).unwrap_or_default()))
}

/// Returns a link of the empty transport for messages that have the size and kind of the cell's messages.
fn empty_link(context: &RoleContext<'_>) -> Link {
    Link {
        name: "empty".to_owned(),
        address: String::new(),
        receivers: 1,
        payload: context.flow.payload,
        frame_bytes: HEADER_BYTES + context.flow.payload_bytes,
        wait: Wait::Callback,
        message: None,
    }
}

fn applies(context: &RoleContext<'_>) -> bool {
    let is_paced = context.flow.pace.is_spaced(LOWEST_RATE_HZ);
    let is_called = context.spec.endpoints.iter().any(|other| {
        let waits = other.wait.unwrap_or(context.spec.wait);
        waits == Wait::Callback && other.inputs.iter().any(|id| context.me.outputs.contains(id))
    });
    is_paced && is_called && context.codec.is_none()
}

/// Returns a callback that does everything that a receiver does until the arrival time, and stores the frame's latency.
fn receiver(context: &RoleContext<'_>, took_ns: Arc<Mutex<Vec<i64>>>) -> OnFrame {
    let mut intake = Intake::new(context, new_deadline(context.spec.drain_ns));
    OnFrame::new(move |received: Received<'_>| {
        let Some(arrival) = intake.admit(&received) else { return };
        let Header { sent_ns, .. } = arrival.header;
        lock(&took_ns).push(arrival.arrived_ns - sent_ns);
    })
}

fn send_all(context: &RoleContext<'_>, publisher: &mut dyn Publisher) -> Result<()> {
    let emitter = Emitter::new(context);
    let mut pacer = Pacer::of_flow(context.flow, None, clock::now_ns() + 1_000_000);
    let mut lead_ns = 0;
    for seq in 0..HOPS {
        let due_ns = pacer.next_ns().unwrap_or_else(clock::now_ns);
        pacer.wait_until(due_ns - lead_ns);
        let header = emitter.header(seq, flags::WARMUP, due_ns);
        emitter.offer(header, &mut 0, |bytes, fill| publisher.send(bytes, fill))?;
        lead_ns = emitter.lead_ns(context.flow.payload_bytes);
    }
    Ok(())
}

fn median(took_ns: &[i64]) -> Option<i64> {
    let mut sorted = took_ns.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_nothing_is_none_and_of_some_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[9, 1, 5]), Some(5));
    }
}
