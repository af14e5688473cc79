//! Computes when each message is due. Due times are absolute, so work between messages never delays later due times.
//! `roles/message_loop.rs` waits for these due times and sends the messages.

use std::sync::Arc;

use crate::alarm::Alarm;
use crate::recording::Recording;
use crate::spec::{Flow, Pace, PaceKind, Turn};

/// The due times of one pair, in ascending order.
pub struct Pacer {
    pace: Pace,
    start_ns: i64,
    next: u64,
    poisson_ns: f64,
    random: Random,
    alarm: Alarm,
    recording: Option<Arc<Recording>>,
    /// The number of messages before a `ramp` begins, and the number of messages in the ramp.
    ramp: (u64, u64),
}

impl Pacer {
    pub fn new(pace: Pace, start_ns: i64) -> Self {
        let (random, alarm) = (Random(pace.seed), Alarm::new(pace.spin_ns));
        Self { pace, start_ns, next: 0, poisson_ns: 0.0, random, alarm, recording: None, ramp: (0, 0) }
    }

    /// Creates the pacer of a flow. With the pace `replay`, the messages are due at the times in the flow's recording.
    pub(crate) fn of_flow(flow: &Flow, recording: Option<&Arc<Recording>>, start_ns: i64) -> Self {
        Self { ramp: (flow.warmup, flow.messages), ..Self::new(flow.pace, start_ns) }.with_recording(recording.cloned())
    }

    /// Returns this pacer with the due times of a recording, for the pace `replay`.
    fn with_recording(self, recording: Option<Arc<Recording>>) -> Self {
        Self { recording, ..self }
    }

    /// Returns when the next message is due, or `None` if the pace has no due times.
    pub fn next_ns(&mut self) -> Option<i64> {
        let index = self.next;
        self.next += 1;
        let offset_ns = match self.pace.kind {
            PaceKind::Open => self.offset_ns(index),
            PaceKind::Burst => {
                let burst = u64::from(self.pace.burst.max(1));
                self.offset_ns(index / burst * burst)
            }
            PaceKind::Poisson => {
                let offset_ns = self.poisson_ns as i64;
                self.poisson_ns += self.random.exponential() * 1e9 / self.pace.rate_hz;
                offset_ns
            }
            PaceKind::Ramp => self.ramp_offset_ns(index),
            PaceKind::Replay => self.recording.as_ref()?.due_ns(index)?,
            PaceKind::Closed | PaceKind::Max => return None,
        };
        let offset_ns = self.pace.first_ns + offset_ns;
        Some(self.start_ns + self.pace.turn.map_or(offset_ns, |turn| turn.schedule_ns(offset_ns)))
    }

    fn offset_ns(&self, index: u64) -> i64 {
        (index as f64 * 1e9 / self.pace.rate_hz).round() as i64
    }

    /// `n(t) = r0 t + a t² / 2` messages of the ramp are due by the time `t`. `r0` is the initial rate, and `a` is the
    /// rate's change per second.
    fn ramp_offset_ns(&self, index: u64) -> i64 {
        let (warmup, messages) = self.ramp;
        if index < warmup {
            return self.offset_ns(index);
        }
        let (first_hz, last_hz) = (self.pace.rate_hz, self.pace.last_hz());
        let (number, many) = ((index - warmup) as f64, messages as f64);
        let on_ramp = number.min(many);
        let change = (last_hz * last_hz - first_hz * first_hz) / many.max(1.0);
        let rate_hz = (first_hz * first_hz + change * on_ramp).sqrt();
        let after_s = 2.0 * on_ramp / (first_hz + rate_hz) + (number - on_ramp) / last_hz;
        self.offset_ns(warmup) + (after_s * 1e9).round() as i64
    }

    /// Waits for a due time in the same way as [`Alarm::wait_until`].
    pub fn wait_until(&mut self, due_ns: i64) {
        self.alarm.wait_until(due_ns);
    }

    /// Returns the time spent spinning, as in [`Alarm::spun_ns`].
    pub fn spun_ns(&self) -> i64 {
        self.alarm.spun_ns()
    }
}

impl Turn {
    /// With alternating senders, returns the time after the start at which the turns of this sender add up to `own_ns`.
    fn schedule_ns(self, own_ns: i64) -> i64 {
        let (earlier, within_ns) = (own_ns / self.length_ns, own_ns % self.length_ns);
        (earlier * i64::from(self.sides) + i64::from(self.side)) * self.length_ns + within_ns
    }
}

/// SplitMix64, a small seeded random number generator, which is sufficient for the gaps between messages.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::recording;

    fn pace(kind: PaceKind, rate_hz: f64, burst: u32) -> Pace {
        Pace { kind, rate_hz, burst, ramp_to_hz: None, spin_ns: None, seed: 7, first_ns: 0, turn: None }
    }

    #[test]
    fn open_schedule_is_absolute_and_does_not_accumulate_rounding() {
        let mut pacer = Pacer::new(pace(PaceKind::Open, 3.0, 1), 1000);
        let times: Vec<i64> = (0..4).filter_map(|_| pacer.next_ns()).collect();
        assert_eq!(times, [1000, 333_334_333, 666_667_667, 1_000_001_000]);
    }

    #[test]
    fn the_first_message_may_be_due_after_the_start() {
        let mut pacer = Pacer::new(Pace { first_ns: 200, ..pace(PaceKind::Open, 1e7, 1) }, 1000);
        let times: Vec<i64> = (0..3).filter_map(|_| pacer.next_ns()).collect();
        assert_eq!(times, [1200, 1300, 1400]);
    }

    #[test]
    fn bursts_share_one_due_time() {
        let mut pacer = Pacer::new(pace(PaceKind::Burst, 1000.0, 3), 0);
        let times: Vec<i64> = (0..7).filter_map(|_| pacer.next_ns()).collect();
        assert_eq!(times, [0, 0, 0, 3_000_000, 3_000_000, 3_000_000, 6_000_000]);
    }

    /// Returns the due times of all warm-up and ramp messages, in seconds after the start.
    fn ramp_s(first_hz: f64, last_hz: f64, warmup: u64, messages: u64) -> Vec<f64> {
        let pace = Pace { ramp_to_hz: Some(last_hz), ..pace(PaceKind::Ramp, first_hz, 1) };
        let mut pacer = Pacer { ramp: (warmup, messages), ..Pacer::new(pace, 0) };
        (0..warmup + messages).filter_map(|_| pacer.next_ns()).map(|due_ns| due_ns as f64 / 1e9).collect()
    }

    #[test]
    fn the_due_times_of_a_ramp_integrate_its_rate() {
        for (first_hz, last_hz) in [(100.0, 1000.0), (1000.0, 100.0), (250.0, 250.0), (1000.0, 0.001)] {
            let length_s = 10.0;
            let messages = ((first_hz + last_hz) / 2.0 * length_s) as u64;
            let length_s = messages as f64 / ((first_hz + last_hz) / 2.0);
            for (number, t) in ramp_s(first_hz, last_hz, 0, messages).into_iter().enumerate() {
                let due = first_hz * t + (last_hz - first_hz) * t * t / (2.0 * length_s);
                assert!((due - number as f64).abs() < 1e-3, "{first_hz} to {last_hz} Hz: {due} at {t} s, not {number}");
            }
        }
    }

    #[test]
    fn a_ramp_begins_after_the_warm_up_at_the_first_rate() {
        let due_s = ramp_s(10.0, 30.0, 2, 40);
        assert_eq!(due_s[..3], [0.0, 0.1, 0.2]);
        assert_eq!(due_s[2..].iter().filter(|&&s| s - 0.2 < 1.0 - 1e-9).count(), 15, "10 t + 10 t² / 2 after 1 s");
    }

    #[test]
    fn messages_after_a_ramp_have_its_last_rate() {
        let pace = Pace { ramp_to_hz: Some(100.0), ..pace(PaceKind::Ramp, 50.0, 1) };
        let mut pacer = Pacer { ramp: (0, 150), ..Pacer::new(pace, 0) };
        let due_ns: Vec<_> = (0..152).filter_map(|_| pacer.next_ns()).collect();
        assert_eq!(due_ns[150..], [2_000_000_000, 2_010_000_000]);
    }

    fn due_times(side: u32, kind: PaceKind, many: usize) -> Vec<i64> {
        let turn = Some(Turn { length_ns: 20_000_000, sides: 2, side });
        let mut pacer = Pacer::new(Pace { turn, ..pace(kind, 200.0, 1) }, 1000);
        (0..many).filter_map(|_| pacer.next_ns()).map(|due_ns| due_ns - 1000).collect()
    }

    #[test]
    fn within_its_own_turns_a_side_has_its_rate() {
        let due_ms = |side| due_times(side, PaceKind::Open, 6).iter().map(|ns| ns / 1_000_000).collect::<Vec<_>>();
        assert_eq!(due_ms(0), [0, 5, 10, 15, 40, 45]);
        assert_eq!(due_ms(1), [20, 25, 30, 35, 60, 65]);
    }

    #[test]
    fn nothing_is_due_in_the_turn_of_the_other_side() {
        for kind in [PaceKind::Open, PaceKind::Poisson, PaceKind::Burst, PaceKind::Ramp] {
            for side in 0..2 {
                let due = due_times(side, kind, 5000);
                assert!(due.is_sorted());
                assert!(due.iter().all(|ns| ns / 20_000_000 % 2 == i64::from(side)), "{kind:?}");
            }
        }
    }

    #[test]
    fn closed_and_max_have_no_schedule() {
        for kind in [PaceKind::Closed, PaceKind::Max] {
            assert_eq!(Pacer::new(pace(kind, 0.0, 1), 1000).next_ns(), None);
        }
    }

    #[test]
    fn a_replay_has_the_times_of_its_recording_and_ends_with_it() {
        let recording = Arc::new(recording(&[(0, b""), (5, b""), (5, b""), (900, b"")]));
        let mut pacer = Pacer::new(pace(PaceKind::Replay, 0.0, 1), 1000).with_recording(Some(recording));
        let times: Vec<_> = (0..5).map(|_| pacer.next_ns()).collect();
        assert_eq!(times, [Some(1000), Some(1005), Some(1005), Some(1900), None]);
    }

    #[test]
    fn poisson_gaps_have_the_rate_as_their_mean_and_repeat_with_the_seed() {
        let times = |_| {
            let mut pacer = Pacer::new(pace(PaceKind::Poisson, 1000.0, 1), 0);
            (0..20_000).filter_map(|_| pacer.next_ns()).collect::<Vec<_>>()
        };
        let first = times(0);
        assert_eq!(first, times(1));
        let mean_ns = *first.last().expect("20,000 times") as f64 / 19_999.0;
        assert!((mean_ns - 1e6).abs() < 3e4, "mean gap {mean_ns} ns");
    }
}
