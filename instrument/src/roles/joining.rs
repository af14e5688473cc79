//! Determines which arrivals trigger a follower's message: each arrival, every `every`-th arrival, or one arrival of
//! each flow.

use crate::frame::{Header, flags};
use crate::spec::{Endpoint, Join};

/// The effect of an arrival at one of the endpoints that a follower follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// The arrival does not trigger a message yet.
    Nothing,
    /// The arrival triggers a message.
    Message,
    /// The arrival triggers no message, and the last messages of all flows have arrived.
    End,
}

/// The arrivals that triggered a message, as pairs of receiving endpoint and `seq`.
pub type CausedBy = Vec<(u32, u64)>;

/// The arrivals that have not yet triggered a message.
pub struct Joining {
    after: Vec<u32>,
    join: Join,
    every: u32,
    /// For each endpoint in `after`, the latest arrival since the follower's last message.
    pending: Vec<Option<u64>>,
    ended: Vec<bool>,
    /// The number of arrivals since the follower's last message, with arrivals that are joined counted as one.
    count: u32,
}

impl Joining {
    pub fn new(me: &Endpoint) -> Self {
        let many = me.after.len();
        Self {
            after: me.after.clone(),
            join: me.join,
            every: me.every.max(1),
            pending: vec![None; many],
            ended: vec![false; many],
            count: 0,
        }
    }

    /// Adds an arrival. If the new arrival completes a trigger, all arrivals that belong to this trigger are written to
    /// `causes`. Returns `None` if this follower does not follow the endpoint at which the message arrived.
    ///
    /// Every warm-up message that arrives at the first followed endpoint triggers a warm-up message of the follower.
    /// `every` and `join` apply only to samples.
    pub fn add(&mut self, endpoint: u32, header: &Header, causes: &mut CausedBy) -> Option<Arrived> {
        let place = self.after.iter().position(|each| *each == endpoint)?;
        causes.clear();
        self.ended[place] |= header.is(flags::LAST);
        if !header.is(flags::PROBE) && self.causes_message(place, header, causes) {
            return Some(Arrived::Message);
        }
        let ends = header.is(flags::LAST) && self.has_ended();
        Some(if ends { Arrived::End } else { Arrived::Nothing })
    }

    /// Returns whether the last messages of all flows have arrived.
    pub fn has_ended(&self) -> bool {
        self.ended.iter().all(|ended| *ended)
    }

    fn causes_message(&mut self, place: usize, header: &Header, causes: &mut CausedBy) -> bool {
        if !header.is_sample() {
            // A last message that is not a sample only announces the end of the flow.
            return place == 0 && !header.is(flags::LAST);
        }
        self.pending[place] = Some(header.seq);
        let is_joined = self.join == Join::Any || self.pending.iter().all(Option::is_some);
        if !is_joined {
            return false;
        }
        self.count += 1;
        let pending = self.after.iter().zip(&mut self.pending);
        causes.extend(pending.filter_map(|(endpoint, seq)| Some((*endpoint, seq.take()?))));
        if self.count < self.every {
            return false;
        }
        self.count = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(seq: u64, marks: u16) -> Header {
        Header { flags: marks, run: 1, pair: 0, seq, due_ns: 0, sent_ns: 0, length: 0, checksum: 0 }
    }

    fn joining(after: &[u32], join: Join, every: u32) -> Joining {
        let many = after.len();
        Joining { after: after.to_vec(), join, every, pending: vec![None; many], ended: vec![false; many], count: 0 }
    }

    /// For each arrival that triggers a message, returns the triggering arrivals.
    fn find_causes(joining: &mut Joining, arrivals: &[(u32, u64)]) -> Vec<Vec<(u32, u64)>> {
        let mut causes = CausedBy::new();
        let mut add = |(endpoint, seq): &(u32, u64)| {
            let arrived = joining.add(*endpoint, &header(*seq, 0), &mut causes);
            (arrived == Some(Arrived::Message)).then(|| causes.clone())
        };
        arrivals.iter().filter_map(&mut add).collect()
    }

    fn add(joining: &mut Joining, endpoint: u32, seq: u64, marks: u16) -> Option<Arrived> {
        joining.add(endpoint, &header(seq, marks), &mut CausedBy::new())
    }

    #[test]
    fn any_arrival_causes_a_message_and_every_third_only_one_of_three() {
        assert_eq!(find_causes(&mut joining(&[4, 5], Join::Any, 1), &[(4, 0), (5, 7)]), [[(4, 0)], [(5, 7)]]);
        let third: Vec<_> = (0..7).map(|seq| (4, seq)).collect();
        assert_eq!(find_causes(&mut joining(&[4], Join::Any, 3), &third), [[(4, 2)], [(4, 5)]]);
    }

    #[test]
    fn all_flows_must_have_arrived_and_the_newest_of_each_is_the_cause() {
        let arrivals = [(4, 0), (4, 1), (5, 7), (5, 8), (4, 2)];
        assert_eq!(find_causes(&mut joining(&[4, 5], Join::All, 1), &arrivals), [[(4, 1), (5, 7)], [(4, 2), (5, 8)]]);
    }

    #[test]
    fn an_endpoint_that_is_not_followed_and_a_probe_cause_nothing() {
        let mut one = joining(&[4], Join::Any, 1);
        assert_eq!(add(&mut one, 9, 0, 0), None);
        assert_eq!(add(&mut one, 4, 0, flags::PROBE), Some(Arrived::Nothing));
    }

    #[test]
    fn the_last_messages_of_all_flows_end_the_follower() {
        let mut two = joining(&[4, 5], Join::All, 1);
        assert_eq!(add(&mut two, 4, 0, flags::LAST), Some(Arrived::Nothing));
        assert!(!two.has_ended());
        assert_eq!(add(&mut two, 5, 0, flags::LAST), Some(Arrived::Message));
        assert!(two.has_ended());
        assert_eq!(add(&mut two, 5, 1, flags::LAST), Some(Arrived::End));
    }

    #[test]
    fn a_last_message_that_is_no_sample_causes_nothing_but_the_end() {
        let mut one = joining(&[4], Join::Any, 1);
        assert_eq!(add(&mut one, 4, 9, flags::WARMUP | flags::LAST), Some(Arrived::End));
    }

    #[test]
    fn a_warm_up_message_causes_one_whatever_every_says() {
        let mut one = joining(&[4], Join::Any, 10);
        assert_eq!(add(&mut one, 4, 0, flags::WARMUP), Some(Arrived::Message));
    }
}
