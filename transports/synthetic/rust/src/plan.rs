//! The plan for a frame: when and how many times the frame arrives. A test can compute the plan from the frame's
//! sequence number and the settings. `../../README.md` has the formulas for tests in other languages.

use hopmeter_instrument::prelude::*;
use serde::Deserialize;

/// The settings of `transport.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub delay_us: f64,
    pub jitter: Jitter,
    pub jitter_us: f64,
    pub seed: u64,
    pub loss: f64,
    pub lose_every: u64,
    pub duplicate_every: u64,
    pub reorder_every: u64,
    pub corrupt_every: u64,
    pub late_every: u64,
    pub late_us: f64,
    pub growth_us: f64,
    pub stall_at: u64,
    pub stall_ms: u64,
    pub max_rate_hz: f64,
    pub queue: usize,
    pub discovery_ms: u64,
    /// Whether the plan has a broker, to which receivers only connect. Only nodes in Rust have this setting.
    #[serde(default)]
    pub broker: bool,
    /// How long after a receiver has connected to a restarted broker samples get through again. Only nodes in Rust have
    /// this setting.
    #[serde(default)]
    pub recovery_ms: u64,
}

/// The distribution of the jitter.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Jitter {
    Constant,
    Uniform,
    Normal,
    Lognormal,
    Exponential,
}

/// The purposes for which independent random numbers are drawn from a sequence number.
#[derive(Clone, Copy)]
enum Draw {
    Loss = 0,
    First = 1,
    Second = 2,
}

impl Plan {
    /// # Errors
    /// Fails if `settings` is not an object with the settings of `transport.toml`.
    pub fn read(settings: serde_json::Value) -> Result<Self> {
        serde_json::from_value(settings).context("parsing the settings of synthetic")
    }

    /// Returns how many times a sample arrives.
    pub fn copies(&self, seq: u64) -> usize {
        if self.loses(seq) { 0 } else { 1 + usize::from(self.duplicates(seq)) }
    }

    fn loses(&self, seq: u64) -> bool {
        nth(seq, self.lose_every) || self.uniform(seq, Draw::Loss) < self.loss
    }

    fn duplicates(&self, seq: u64) -> bool {
        nth(seq, self.duplicate_every)
    }

    pub fn reorders(&self, seq: u64) -> bool {
        nth(seq, self.reorder_every)
    }

    pub fn corrupts(&self, seq: u64) -> bool {
        nth(seq, self.corrupt_every)
    }

    pub fn stalls(&self, seq: u64) -> bool {
        self.stall_ms > 0 && seq == self.stall_at
    }

    /// Returns the travel time of a sample.
    pub fn delay_ns(&self, seq: u64) -> i64 {
        let late_us = if nth(seq, self.late_every) { self.late_us } else { 0.0 };
        let grown_us = self.growth_us * seq as f64;
        let delay_us = self.delay_us + late_us + grown_us + self.jitter_us * self.deviate(seq);
        (delay_us.max(0.0) * 1000.0).round() as i64
    }

    /// Returns a random number from the distribution of the jitter, for a jitter of scale 1.
    fn deviate(&self, seq: u64) -> f64 {
        match self.jitter {
            Jitter::Constant => 0.0,
            Jitter::Uniform => self.uniform(seq, Draw::First),
            Jitter::Normal => self.normal(seq),
            Jitter::Lognormal => self.normal(seq).exp(),
            Jitter::Exponential => -(1.0 - self.uniform(seq, Draw::First)).ln(),
        }
    }

    /// Returns a normally distributed random number, by the Box-Muller transform.
    fn normal(&self, seq: u64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(seq, Draw::First)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(seq, Draw::Second)).cos()
    }

    /// Returns a uniform random number from 0 (included) to 1 (excluded).
    fn uniform(&self, seq: u64, draw: Draw) -> f64 {
        let word = mix(mix(self.seed).wrapping_add(3_u64.wrapping_mul(seq)).wrapping_add(draw as u64));
        (word >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Whether the sequence number is one of n - 1, 2n - 1, 3n - 1, …
fn nth(seq: u64, n: u64) -> bool {
    n > 0 && seq % n == n - 1
}

/// Performs one step of SplitMix64, which spreads neighbouring numbers over the whole 64-bit range.
fn mix(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(jitter: Jitter) -> Plan {
        Plan {
            delay_us: 100.0,
            jitter,
            jitter_us: 10.0,
            seed: 7,
            loss: 0.05,
            lose_every: 0,
            duplicate_every: 10,
            reorder_every: 0,
            corrupt_every: 0,
            late_every: 5,
            late_us: 0.0,
            growth_us: 0.0,
            stall_at: 0,
            stall_ms: 0,
            discovery_ms: 0,
            broker: false,
            recovery_ms: 0,
            max_rate_hz: 0.0,
            queue: 16,
        }
    }

    fn mean_and_deviation_us(jitter: Jitter) -> (f64, f64) {
        let plan = plan(jitter);
        let draws: Vec<f64> = (0..200_000).map(|seq| plan.delay_ns(seq) as f64 / 1000.0 - 100.0).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt())
    }

    fn assert_near(found: (f64, f64), expected: (f64, f64)) {
        assert!((found.0 - expected.0).abs() < 0.3 && (found.1 - expected.1).abs() < 0.6, "{found:?} {expected:?}");
    }

    #[test]
    fn delays_have_the_moments_of_their_distribution() {
        assert_near(mean_and_deviation_us(Jitter::Constant), (0.0, 0.0));
        assert_near(mean_and_deviation_us(Jitter::Uniform), (5.0, 10.0 / 12_f64.sqrt()));
        assert_near(mean_and_deviation_us(Jitter::Normal), (0.0, 10.0));
        assert_near(mean_and_deviation_us(Jitter::Exponential), (10.0, 10.0));
        let e = std::f64::consts::E;
        assert_near(mean_and_deviation_us(Jitter::Lognormal), (10.0 * e.sqrt(), 10.0 * (e * e - e).sqrt()));
    }

    #[test]
    fn losses_come_at_their_rate_and_do_not_depend_on_the_delays() {
        let lost = |jitter| (0..100_000).filter(|seq| plan(jitter).loses(*seq)).collect::<Vec<u64>>();
        assert!((lost(Jitter::Normal).len() as f64 - 5000.0).abs() < 300.0);
        assert_eq!(lost(Jitter::Normal), lost(Jitter::Constant));
    }

    #[test]
    fn every_tenth_is_the_ninth_counted_from_zero() {
        let repeated: Vec<u64> = (0..30).filter(|seq| plan(Jitter::Constant).duplicates(*seq)).collect();
        assert_eq!(repeated, [9, 19, 29]);
    }

    #[test]
    fn only_every_fifth_is_late_and_by_exactly_as_much_as_planned() {
        let plan = Plan { late_us: 2000.0, ..plan(Jitter::Constant) };
        let late: Vec<u64> = (0..20).filter(|seq| plan.delay_ns(*seq) == 2_100_000).collect();
        assert_eq!(late, [4, 9, 14, 19]);
        assert!((0..20).filter(|seq| !late.contains(seq)).all(|seq| plan.delay_ns(seq) == 100_000));
    }

    #[test]
    fn each_sample_travels_longer_than_the_one_before() {
        let plan = Plan { growth_us: 2.0, ..plan(Jitter::Constant) };
        assert_eq!((0..3).map(|seq| plan.delay_ns(seq)).collect::<Vec<_>>(), [100_000, 102_000, 104_000]);
    }

    /// Tests in other languages also compute the plan, so the values in this test must be the same in every language.
    #[test]
    fn the_draws_are_those_of_the_readme() {
        let draws: Vec<f64> = (0..3).map(|seq| plan(Jitter::Uniform).uniform(seq, Draw::First)).collect();
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(
            draws.iter().map(|draw| format!("{draw:.9}")).collect::<Vec<_>>(),
            ["0.155894071", "0.106630200", "0.517029350"]
        );
    }
}
