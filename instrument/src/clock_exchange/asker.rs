//! The asking side of the clock exchange. The asker runs batches of exchanges, and retains the exchanges with the
//! shortest round trips.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::packet::{Kind, NO_STAMP, Packet, Token};
use super::stamped_socket::{Stamp, StampedSocket};
use super::{Clock, host_clock};
use crate::clock;
use crate::error::{Context, Error, Result};

/// The number of exchanges that a batch retains.
const BEST: usize = 8;
/// A batch ends early after this many consecutive unanswered requests.
const MOST_LOST: usize = 5;
/// The duration after which a batch over a slow network ends, if the batch already has [`ENOUGH`] exchanges.
const LONGEST_NS: i64 = 500_000_000;
const ENOUGH: usize = 16;
/// The reciprocal of the maximum relative drift between two clocks, including corrections of their rates.
const LEAST_RATE: i64 = 1000;

/// The parameters of a batch of exchanges with one responder.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub responder: SocketAddr,
    pub token: Token,
    pub exchanges: usize,
    /// How long the asker waits for each answer.
    pub patience: Duration,
}

/// The four timestamps of one exchange: two on the asker's clock, two on the responder's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    pub asked_ns: i64,
    pub received_ns: i64,
    pub sent_ns: i64,
    pub answered_ns: i64,
    /// The part of the offset's maximum error that half of the round trip does not cover. This part comes from
    /// converting the kernel's timestamps, and from the clocks' different rates while the responder holds the request.
    pub error_ns: i64,
    /// How many of the four timestamps the kernel took.
    pub kernel_stamps: u32,
}

impl Exchange {
    /// Returns the travel time of both datagrams, without the time that the responder held the request.
    pub fn round_trip_ns(&self) -> i128 {
        span(self.asked_ns, self.answered_ns) - span(self.received_ns, self.sent_ns)
    }

    /// Returns whether the timestamps are in order, that is, whether each datagram was sent before it arrived.
    fn is_possible(&self) -> bool {
        self.sent_ns >= self.received_ns && self.answered_ns >= self.asked_ns && self.round_trip_ns() >= 0
    }
}

fn span(from_ns: i64, to_ns: i64) -> i128 {
    i128::from(to_ns) - i128::from(from_ns)
}

/// The results of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub asked: usize,
    pub answered: usize,
    /// The number of exchanges with contradictory timestamps, because a clock was set during the exchange.
    pub impossible: usize,
    pub median_round_trip_ns: i128,
    /// The exchanges with the shortest round trips, shortest first.
    pub best: Vec<Exchange>,
}

/// Measures how far a responder's clock is ahead of this host's clock.
///
/// # Errors
///
/// Fails if the responder cannot be reached or answers no request.
pub fn measure_batch(request: &Request) -> Result<Batch> {
    measure_with_clock(request, host_clock)
}

pub(super) fn measure_with_clock(request: &Request, clock: Clock) -> Result<Batch> {
    let mut asker = Asker::connect(request, clock)?;
    let mut found: Vec<Option<Exchange>> = Vec::with_capacity(request.exchanges);
    // No two batches use the same request numbers, so a late or repeated reply to a different batch matches no request
    // of this batch.
    let begun_ns = clock::now_ns();
    let first = (begun_ns as u64) << 16;
    for number in 0..request.exchanges as u64 {
        let exchange = asker.exchange(first.wrapping_add(number), found.last_mut())?;
        found.push(exchange);
        if found.len() >= MOST_LOST && found[found.len() - MOST_LOST..].iter().all(Option::is_none) {
            break;
        }
        if found.len() >= ENOUGH && clock::now_ns() - begun_ns > LONGEST_NS {
            break;
        }
    }
    summarise(&found).ok_or_else(|| silence(request, &found))
}

fn summarise(found: &[Option<Exchange>]) -> Option<Batch> {
    let (mut possible, impossible): (Vec<Exchange>, Vec<Exchange>) =
        found.iter().flatten().partition(|exchange| exchange.is_possible());
    possible.sort_by_key(Exchange::round_trip_ns);
    let median_round_trip_ns = possible.get(possible.len() / 2)?.round_trip_ns();
    let answered = possible.len() + impossible.len();
    possible.truncate(BEST);
    for exchange in &mut possible {
        exchange.error_ns += (exchange.sent_ns - exchange.received_ns) / LEAST_RATE + 1;
    }
    Some(Batch { asked: found.len(), answered, impossible: impossible.len(), median_round_trip_ns, best: possible })
}

fn silence(request: &Request, found: &[Option<Exchange>]) -> Error {
    let answered = found.iter().flatten().count();
    let what = if answered > 0 { "all timestamps contradict each other" } else { "no request was answered" };
    Error::new(format!("the clock exchange with {} failed: {what}", request.responder))
        .remedy("check that datagrams (UDP) pass in both directions, and that no program sets the clock")
}

/// The most recently sent request.
#[derive(Clone, Copy, Default)]
struct Sent {
    number: u32,
    stamp: Option<Stamp>,
}

struct Asker {
    socket: StampedSocket,
    request: Request,
    sent: Sent,
}

impl Asker {
    fn connect(request: &Request, clock: Clock) -> Result<Self> {
        let any = match request.responder {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = StampedSocket::bind((any, 0).into(), clock)?;
        // On a connected socket, the kernel drops datagrams from other senders.
        socket.socket.connect(request.responder).context(format!("connecting to {}", request.responder))?;
        Ok(Self { socket, request: *request, sent: Sent::default() })
    }

    /// Runs one exchange. Returns `None` if no reply arrives in time. The reply also carries the kernel's send time of
    /// the previous reply, which completes the previous exchange.
    fn exchange(&mut self, number: u64, previous: Option<&mut Option<Exchange>>) -> Result<Option<Exchange>> {
        let packet = Packet::request(self.request.token, number).encode();
        let asked_ns = self.socket.now_ns();
        self.socket.socket.send(&packet).map_err(|cause| self.unreachable(cause))?;
        self.sent = Sent { number: self.socket.count_sent(), stamp: None };
        let Some((reply, arrival)) = self.await_reply(number)? else { return Ok(None) };
        if let Some(Some(previous)) = previous {
            complete(previous, &reply);
        }
        let asked = self.sent.stamp.filter(|stamp| stamp.ns >= asked_ns);
        let asked = asked.unwrap_or(Stamp { ns: asked_ns, error_ns: 0, is_kernel: false });
        let own_error_ns = asked.error_ns.max(arrival.error_ns);
        Ok(Some(Exchange {
            asked_ns: asked.ns,
            received_ns: reply.received_ns,
            sent_ns: reply.sent_ns,
            answered_ns: arrival.ns,
            error_ns: i64::from(own_error_ns) + i64::from(reply.error_ns),
            kernel_stamps: [asked.is_kernel, reply.is_kernel_stamp, arrival.is_kernel].map(u32::from).iter().sum(),
        }))
    }

    /// Waits for the reply to the request `number`. Skips replies that are late, repeated or forged.
    fn await_reply(&mut self, number: u64) -> Result<Option<(Packet, Stamp)>> {
        let deadline_ns = clock::now_ns() + self.request.patience.as_nanos() as i64;
        loop {
            self.sent.stamp = self.sent.stamp.or_else(|| self.socket.sent_stamp(self.sent.number));
            match self.socket.receive() {
                Ok((datagram, _)) => {
                    let reply = Packet::decode(datagram.content(), Kind::Reply, &self.request.token);
                    if let Some(reply) = reply.filter(|reply| reply.number == number) {
                        return Ok(Some((reply, datagram.stamp)));
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => self.wait(deadline_ns)?,
                Err(cause) => return Err(self.unreachable(cause)),
            }
            if clock::now_ns() >= deadline_ns {
                return Ok(None);
            }
        }
    }

    fn wait(&self, deadline_ns: i64) -> Result<()> {
        let left_ns = (deadline_ns - clock::now_ns()).max(0);
        let left = Timespec { tv_sec: left_ns / 1_000_000_000, tv_nsec: left_ns % 1_000_000_000 };
        let mut end = [PollFd::new(&self.socket.socket, PollFlags::IN)];
        match poll(&mut end, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(cause) => Err(Error::new("waiting for an answer of the clock exchange").because(cause)),
        }
    }

    fn unreachable(&self, cause: io::Error) -> Error {
        Error::new(format!("the clock exchange cannot reach {}", self.request.responder))
            .because(cause)
            .remedy("start the responder on that host, and check that datagrams (UDP) pass in both directions")
    }
}

/// Replaces the responder's reply send time with the kernel timestamp, which only the next reply carries.
fn complete(exchange: &mut Exchange, next: &Packet) {
    if next.previous_sent_ns != NO_STAMP && next.previous_sent_ns >= exchange.sent_ns {
        exchange.sent_ns = next.previous_sent_ns;
        exchange.kernel_stamps += 1;
        exchange.error_ns = exchange.error_ns.max(i64::from(next.error_ns));
    }
}
