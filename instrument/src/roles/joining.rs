//! Decides which arrivals cause a message of a follower: each, each n-th, or one of each flow.

use crate::frame::{Header, flags};
use crate::spec::{Endpoint, Join};

/// What an arrival at one of the endpoints that a follower follows amounts to.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived<'a> {
    /// No message yet.
    Nothing,
    /// A message is caused by these messages: the receiving endpoint and the `seq` of each.
    Message { causes: &'a [(u32, u64)], is_last: bool },
    /// The last messages of all flows have arrived, and the last arrival causes no message.
    End,
}

/// The arrivals that have not caused a message yet.
pub struct Joining {
    after: Vec<u32>,
    join: Join,
    every: u32,
    /// The newest arrival at each endpoint of `after` since the last message.
    pending: Vec<Option<u64>>,
    ended: Vec<bool>,
    /// Joined arrivals since the last message.
    count: u32,
    causes: Vec<(u32, u64)>,
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
            causes: Vec::with_capacity(many),
        }
    }

    /// Adds an arrival; `None` if this follower does not follow the endpoint.
    ///
    /// Every warm-up message at the first endpoint causes a warm-up message; `every` and `join` count samples only.
    pub fn add(&mut self, endpoint: u32, header: &Header) -> Option<Arrived<'_>> {
        let place = self.after.iter().position(|each| *each == endpoint)?;
        self.ended[place] |= header.is(flags::LAST);
        let is_last = self.ended.iter().all(|ended| *ended);
        if header.is(flags::PROBE) {
            return Some(Arrived::Nothing);
        }
        self.causes.clear();
        if self.causes_message(place, header) {
            return Some(Arrived::Message { causes: &self.causes, is_last });
        }
        Some(if is_last { Arrived::End } else { Arrived::Nothing })
    }

    fn causes_message(&mut self, place: usize, header: &Header) -> bool {
        if !header.is_sample() {
            return place == 0;
        }
        self.pending[place] = Some(header.seq);
        let is_joined = self.join == Join::Any || self.pending.iter().all(Option::is_some);
        if !is_joined {
            return false;
        }
        self.count += 1;
        let pending = self.after.iter().zip(&mut self.pending);
        self.causes.extend(pending.filter_map(|(endpoint, seq)| Some((*endpoint, seq.take()?))));
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
        Header { flags: marks, run: 1, pair: 0, seq, intended_ns: 0, sent_ns: 0, length: 0, checksum: 0 }
    }

    fn joining(after: &[u32], join: Join, every: u32) -> Joining {
        let many = after.len();
        Joining {
            after: after.to_vec(),
            join,
            every,
            pending: vec![None; many],
            ended: vec![false; many],
            count: 0,
            causes: Vec::new(),
        }
    }

    /// The `seq` of each cause, for each arrival that causes a message.
    fn find_causes(joining: &mut Joining, arrivals: &[(u32, u64)]) -> Vec<Vec<(u32, u64)>> {
        let add = |(endpoint, seq): &(u32, u64)| match joining.add(*endpoint, &header(*seq, 0)) {
            Some(Arrived::Message { causes, .. }) => Some(causes.to_vec()),
            _ => None,
        };
        arrivals.iter().filter_map(add).collect()
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
        assert_eq!(one.add(9, &header(0, 0)), None);
        assert_eq!(one.add(4, &header(0, flags::PROBE)), Some(Arrived::Nothing));
    }

    #[test]
    fn the_last_messages_of_all_flows_end_the_follower() {
        let mut two = joining(&[4, 5], Join::All, 1);
        assert_eq!(two.add(4, &header(0, flags::LAST)), Some(Arrived::Nothing));
        assert_eq!(
            two.add(5, &header(0, flags::LAST)),
            Some(Arrived::Message { causes: &[(4, 0), (5, 0)], is_last: true })
        );
        assert_eq!(two.add(5, &header(1, flags::LAST)), Some(Arrived::End));
    }

    #[test]
    fn a_warm_up_message_causes_one_whatever_every_says() {
        let mut one = joining(&[4], Join::Any, 10);
        assert_eq!(one.add(4, &header(0, flags::WARMUP)), Some(Arrived::Message { causes: &[], is_last: false }));
    }
}
