//! Tracks the phase of a trial for a node's endpoints. The endpoints of a node wait in [`Phase`] for the launcher's
//! next order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::control::Order;
use crate::error::{Error, Result};
use crate::sync::lock;

/// The launcher's orders so far, and notifications between the endpoints.
#[derive(Default)]
pub struct Phase {
    words: Mutex<Words>,
    changed: Condvar,
    has_stopped: AtomicBool,
}

#[derive(Default)]
struct Words {
    addresses: Option<BTreeMap<String, String>>,
    probing: bool,
    proved: BTreeSet<u32>,
    /// The endpoints of this node that have opened their receiving ends.
    opened: BTreeSet<u32>,
    start_ns: Option<i64>,
    /// Whether the sources send no more messages. An order to end the trial also stops the sources.
    stopped: bool,
    ended: bool,
}

impl Phase {
    /// Stores an order of the launcher.
    pub fn apply(&self, order: Order) {
        let mut words = lock(&self.words);
        match order {
            Order::Connect { links } => words.addresses = Some(links),
            Order::Probe => words.probing = true,
            Order::Proved { pair } => drop(words.proved.insert(pair)),
            Order::Go { start_ns } => words.start_ns = Some(start_ns),
            Order::Stop => self.stop(&mut words),
            Order::End => {
                words.ended = true;
                self.stop(&mut words);
            }
        }
        self.changed.notify_all();
    }

    fn stop(&self, words: &mut Words) {
        words.stopped = true;
        self.has_stopped.store(true, Ordering::Relaxed);
    }

    fn wait_for_value<T>(&self, mut answer: impl FnMut(&Words) -> Option<T>) -> T {
        let mut words = lock(&self.words);
        loop {
            if let Some(answer) = answer(&words) {
                return answer;
            }
            words = self.changed.wait(words).unwrap_or_else(|broken| broken.into_inner());
        }
    }

    /// Waits until all links are bound, and returns the address of the link end that binds the given link.
    ///
    /// # Errors
    ///
    /// Fails if no endpoint bound the link.
    pub fn wait_for_address(&self, id: &str) -> Result<String> {
        let address = self.wait_for_value(|words| words.addresses.as_ref().map(|all| all.get(id).cloned()));
        address.ok_or_else(|| Error::new(format!("no endpoint bound the link {id}")))
    }

    /// Records that an endpoint of this node has opened its receiving end, or that the endpoint has failed to open it.
    pub fn mark_open(&self, id: u32) {
        lock(&self.words).opened.insert(id);
        self.changed.notify_all();
    }

    /// Waits until another endpoint of this node has opened its receiving end.
    pub fn wait_until_open(&self, id: u32) {
        self.wait_for_value(|words| words.opened.contains(&id).then_some(()));
    }

    /// Waits until the launcher orders probes.
    pub fn wait_for_probing(&self) {
        self.wait_for_value(|words| words.probing.then_some(()));
    }

    /// Returns whether the launcher has reported that every branch of the pair delivers. Waits at most `patience` for
    /// the launcher's report.
    pub fn wait_for_proof(&self, pair: u32, patience: Duration) -> bool {
        let words = lock(&self.words);
        let unproved = |words: &mut Words| !words.proved.contains(&pair);
        let waited = self.changed.wait_timeout_while(words, patience, unproved);
        let (words, _) = waited.unwrap_or_else(|broken| broken.into_inner());
        words.proved.contains(&pair)
    }

    /// Waits for `go`, and returns the start time of the schedule.
    pub fn wait_for_go(&self) -> i64 {
        self.wait_for_value(|words| words.start_ns)
    }

    /// Returns the start time of the schedule, or `None` before `go`.
    pub fn start_ns(&self) -> Option<i64> {
        lock(&self.words).start_ns
    }

    /// Waits for `go`. Returns `None` if `over` returns true when [`Phase::wake`] wakes this thread.
    pub fn wait_for_go_or(&self, over: impl Fn() -> bool) -> Option<i64> {
        self.wait_for_value(|words| if over() { Some(None) } else { words.start_ns.map(Some) })
    }

    /// Returns whether the launcher has ordered the sources to stop or the node to end. If this order comes before the
    /// last message has been sent, the trial ends early.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Relaxed)
    }

    /// Waits at most `patience` for the launcher's order to stop or to end.
    pub fn wait_for_stop_within(&self, patience: Duration) {
        let words = lock(&self.words);
        drop(self.changed.wait_timeout_while(words, patience, |words| !words.stopped));
    }

    /// Waits for the order to stop or to end, or until `over` returns true when [`Phase::wake`] wakes this thread.
    pub fn wait_for_stop_or(&self, over: impl Fn() -> bool) {
        self.wait_for_value(|words| (words.stopped || over()).then_some(()));
    }

    /// Makes every waiting thread check its condition again.
    pub fn wake(&self) {
        drop(lock(&self.words));
        self.changed.notify_all();
    }

    /// Waits until the endpoints may close their link ends.
    pub fn wait_for_end(&self) {
        self.wait_for_value(|words| words.ended.then_some(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_nobody_bound_is_an_error() {
        let phase = Phase::default();
        phase.apply(Order::Connect { links: BTreeMap::new() });
        assert!(phase.wait_for_address("l0").is_err());
    }

    #[test]
    fn who_waits_for_another_to_have_opened_its_end_goes_on_when_that_one_has() {
        let phase = Phase::default();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| phase.wait_until_open(1));
            phase.mark_open(0);
            assert!(!second.is_finished(), "the other has not opened yet");
            phase.mark_open(1);
        });
    }

    #[test]
    fn an_order_to_end_interrupts_a_pause() {
        let phase = Phase::default();
        phase.wait_for_stop_within(Duration::from_millis(1));
        assert!(!phase.has_stopped(), "the pause is over, and nobody has ordered the end");
        std::thread::scope(|scope| {
            let pause = scope.spawn(|| phase.wait_for_stop_within(Duration::from_secs(3600)));
            phase.apply(Order::End);
            pause.join().expect("the pause ends");
        });
        assert!(phase.has_stopped());
        phase.wait_for_stop_or(|| false);
        phase.wait_for_end();
    }

    #[test]
    fn an_order_to_stop_stops_the_sources_and_leaves_the_link_ends_open() {
        let phase = Phase::default();
        phase.apply(Order::Stop);
        assert!(phase.has_stopped());
        phase.wait_for_stop_or(|| false);
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| phase.wait_for_end());
            std::thread::sleep(Duration::from_millis(1));
            assert!(!closing.is_finished(), "nobody has ordered the end");
            phase.apply(Order::End);
        });
    }

    #[test]
    fn only_the_proved_pair_is_proved() {
        let phase = Phase::default();
        phase.apply(Order::Proved { pair: 1 });
        assert!(phase.wait_for_proof(1, Duration::ZERO));
        assert!(!phase.wait_for_proof(0, Duration::ZERO));
    }
}
