//! Measures how much this machine disturbs a thread that has a core to itself, and how late a sleeping thread wakes up.
//!
//! The disturbance and the wake-up delay are lower bounds for the variation of the latency of a hop over any transport.

use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::{affinity, clock};

/// The shortest gap between two clock readings that counts as a disturbance, in nanoseconds. A gap of this length
/// delays a message noticeably.
pub const GAP_NS: i64 = 10_000;

/// The gaps between the clock readings of a thread that does nothing else, on one core.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct Noise {
    /// The core that the thread was pinned to, or `None` if the scheduler chose the core.
    pub core: Option<u32>,
    pub watched_ns: i64,
    /// The longest time between two consecutive clock readings.
    pub longest_ns: i64,
    /// The number of gaps that are longer than 10 us; `gaps_ns` is the total time of these gaps.
    pub gaps: u64,
    pub gaps_ns: i64,
}

/// Reads the clock continuously for the given time, on a new thread.
pub fn probe(core: Option<u32>, duration: Duration) -> Result<Noise> {
    on_a_thread(core, move || watch(duration.as_nanos() as i64)).map(|noise| Noise { core, ..noise })
}

fn watch(duration_ns: i64) -> Noise {
    let begin_ns = clock::now_ns();
    let mut noise = Noise::default();
    let mut last_ns = begin_ns;
    while last_ns - begin_ns < duration_ns {
        let now_ns = clock::now_ns();
        noise.note(now_ns - last_ns);
        last_ns = now_ns;
    }
    Noise { watched_ns: last_ns - begin_ns, ..noise }
}

impl Noise {
    #[inline]
    fn note(&mut self, gap_ns: i64) {
        self.longest_ns = self.longest_ns.max(gap_ns);
        if gap_ns > GAP_NS {
            self.gaps += 1;
            self.gaps_ns += gap_ns;
        }
    }
}

/// How late a thread wakes up from its sleeps.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct SleepError {
    pub asked_ns: i64,
    pub sleeps: usize,
    pub p50_ns: i64,
    pub max_ns: i64,
}

/// Sleeps `sleeps` times for `asked`, on a new thread with the precise timers of a node.
pub fn sleep_error(core: Option<u32>, asked: Duration, sleeps: usize) -> Result<SleepError> {
    let asked_ns = asked.as_nanos() as i64;
    let mut late_ns = on_a_thread(core, move || {
        affinity::sharpen_timers();
        (0..sleeps.max(1)).map(|_| lateness_ns(asked_ns)).collect::<Vec<_>>()
    })?;
    late_ns.sort_unstable();
    let (p50_ns, max_ns) = (late_ns[late_ns.len() / 2], late_ns[late_ns.len() - 1]);
    Ok(SleepError { asked_ns, sleeps: late_ns.len(), p50_ns, max_ns })
}

fn lateness_ns(asked_ns: i64) -> i64 {
    let due_ns = clock::now_ns() + asked_ns;
    clock::sleep_until(due_ns);
    clock::now_ns() - due_ns
}

/// Runs `work` on a new thread, because pinning and precise timers change the thread on which they are set.
fn on_a_thread<T: Send + 'static>(core: Option<u32>, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let pinned = move || core.map_or(Ok(()), affinity::pin).map(|()| work());
    let thread = std::thread::Builder::new()
        .name("noise".into())
        .spawn(pinned)
        .map_err(|cause| Error::new("starting a thread to watch the machine").because(cause))?;
    thread.join().unwrap_or_else(|_| Err(Error::new("the thread that watched the machine panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gaps_over_ten_microseconds_count_but_the_longest_is_always_known() {
        let mut noise = Noise::default();
        for gap_ns in [25, GAP_NS, GAP_NS + 1, 50_000, 30] {
            noise.note(gap_ns);
        }
        assert_eq!((noise.gaps, noise.gaps_ns, noise.longest_ns), (2, GAP_NS + 50_001, 50_000));
    }

    #[test]
    fn the_probe_watches_as_long_as_asked() {
        let noise = probe(None, Duration::from_millis(20)).expect("a probe");
        assert!(noise.watched_ns >= 20_000_000, "{noise:?}");
        assert!(noise.longest_ns > 0, "{noise:?}");
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error_and_not_a_quiet_core() {
        let error = probe(Some(1000), Duration::from_millis(1)).expect_err("there is no core 1000");
        assert!(error.to_string().contains("core 1000"), "{error}");
    }

    #[test]
    fn nobody_wakes_before_the_time_asked() {
        let error = sleep_error(None, Duration::from_micros(100), 5).expect("five sleeps");
        assert_eq!((error.asked_ns, error.sleeps), (100_000, 5));
        assert!(0 <= error.p50_ns && error.p50_ns <= error.max_ns, "{error:?}");
    }
}
