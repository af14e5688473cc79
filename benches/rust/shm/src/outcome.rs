//! Results of two programs that are measured in turns, and their ratio.

use crate::Result;

/// Pairs of results in nanoseconds: first the ring, then the other program.
pub struct Comparison {
    name: String,
    limit: f64,
    pairs: Vec<(f64, f64)>,
}

impl Comparison {
    /// Measures in turns, every second pair in the opposite order, so that neither program is always first.
    pub fn of(
        name: &str,
        limit: f64,
        pairs: usize,
        ours: impl Fn() -> Result<f64>,
        theirs: impl Fn() -> Result<f64>,
    ) -> Result<Self> {
        let pair = |i| {
            if i % 2 == 0 {
                return Ok((ours()?, theirs()?));
            }
            let other = theirs()?;
            Ok((ours()?, other))
        };
        let pairs = (0..pairs.max(1)).map(pair).collect::<Result<_>>()?;
        Ok(Self { name: name.to_owned(), limit, pairs })
    }

    /// Prints one line; returns whether the limit may hold.
    pub fn tell(&self) -> bool {
        let ratios = sort_values(self.pairs.iter().map(|(ours, theirs)| ours / theirs));
        let (low, high) = interval(&ratios);
        let (good, middle) = (low <= self.limit, median(&ratios));
        println!(
            "{}: ours {:.0} ns, theirs {:.0} ns a hop; ratio {:.3} [{low:.3}, {high:.3}] of {} pairs, limit {}: {}",
            self.name,
            median(&sort_values(self.pairs.iter().map(|pair| pair.0))),
            median(&sort_values(self.pairs.iter().map(|pair| pair.1))),
            middle,
            ratios.len(),
            self.limit,
            if middle <= self.limit {
                "holds"
            } else if good {
                "not resolved"
            } else {
                "MISSED"
            },
        );
        good
    }
}

fn sort_values(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The ranks of the two values between which the median is with at least 95 % certainty, from the binomial
/// distribution; they are valid for any distribution of the values.
fn interval(sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len();
    let (mut term, mut below) = (0.5_f64.powi(n as i32), 0.0);
    let mut rank = 0;
    while below + term <= 0.025 {
        below += term;
        term *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    let rank = rank.saturating_sub(1);
    (sorted[rank], sorted[n - 1 - rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_ten_leaves_out_one_at_each_end() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(interval(&values), (2.0, 9.0));
        assert_eq!(median(&values), 5.5);
    }
}
