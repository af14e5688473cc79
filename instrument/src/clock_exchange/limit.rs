//! Limits the rate at which a responder handles datagrams, so that a flood uses only a small part of one core.

/// The number of datagrams that may arrive at once, which exceeds the number of datagrams in a batch.
const CAPACITY: i64 = 2000;
/// The time after which the limit allows one more datagram.
const REFILL_NS: i64 = 200_000;

pub struct Limit {
    /// When the token bucket of the rate limit will be full again.
    full_ns: i64,
}

impl Limit {
    pub fn new() -> Self {
        Self { full_ns: i64::MIN }
    }

    /// Counts a datagram. Returns the time until which the responder must not handle another datagram.
    pub fn count(&mut self, now_ns: i64) -> i64 {
        self.full_ns = self.full_ns.max(now_ns) + REFILL_NS;
        self.full_ns - CAPACITY * REFILL_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_passes_and_a_flood_is_slowed_down() {
        let mut limit = Limit::new();
        assert!((0..CAPACITY).all(|_| limit.count(1_000) <= 1_000));
        assert_eq!(limit.count(1_000), 1_000 + REFILL_NS);
        let after_ns = 1_000 + (CAPACITY + 1) * REFILL_NS;
        assert!((0..CAPACITY).all(|_| limit.count(after_ns) <= after_ns), "the bucket is full again");
    }
}
