//! A chain of relays in one process that uses only zenoh: each relay is a subscriber whose callback puts the received
//! sample.
//!
//! `hopmeter-bench-zenoh RELAYS MESSAGES RATE_HZ CORE plain|alike` prints the median time per hop in nanoseconds. For
//! each message, the program divides the time from just before the first put until the last callback begins by the
//! number of hops. A `plain` relay only passes messages on. An `alike` relay does the work of a measuring relay: it
//! reads the clock at the call and before its put, reads the message's header, and stores a record.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::thread::{ClockId, CpuSet, Timespec, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::clock_gettime;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const FRAME_BYTES: usize = 64;
const WARMUP: usize = 50;
/// The program spins for this long before each message, as hopmeter's source does.
const SPIN_NS: i64 = 50_000;
const SETTLE_NS: i64 = 200_000_000;

type Latencies = Arc<Mutex<Vec<i64>>>;

/// A relay's record of one message, which fills one cache line.
#[repr(C, align(64))]
struct Record {
    seq: i64,
    arrived_ns: i64,
    forwarded_ns: i64,
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1).collect::<Vec<_>>();
    let way = words.pop().unwrap_or_default();
    let numbers = words.iter().map(|word| word.parse()).collect::<std::result::Result<Vec<usize>, _>>()?;
    let ([relays, messages, rate_hz, core], "plain" | "alike") = (&numbers[..], &way[..]) else {
        return Err("usage: hopmeter-bench-zenoh RELAYS MESSAGES RATE_HZ CORE plain|alike".into());
    };
    let (relays, messages, rate_hz) = (*relays, *messages, *rate_hz);
    pin(*core)?;
    let session = zenoh::open(peer()?).wait()?;
    let latencies = Latencies::new(Mutex::new(Vec::with_capacity(WARMUP + messages)));
    let room = if way == "alike" { WARMUP + messages } else { 0 };
    let chain = Chain::declare(&session, relays, latencies.clone(), room)?;
    chain.run(WARMUP + messages, 1_000_000_000 / rate_hz as i64)?;
    session.close().wait()?;
    let mut taken = latencies.lock().unwrap_or_else(PoisonError::into_inner).split_off(WARMUP);
    if taken.len() != messages {
        return Err(format!("{} of {messages} messages came through", taken.len()).into());
    }
    taken.sort_unstable();
    println!("{}", taken[messages / 2] as f64 / (relays + 1) as f64);
    Ok(())
}

/// Pins this process to a core. Call `pin` before zenoh creates its threads, so that these threads inherit the core.
fn pin(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(sched_setaffinity(None, &cores)?)
}

/// Returns the configuration of a peer that listens on its own port and does not search for other peers.
fn peer() -> Result<Config> {
    let mut config = Config::default();
    config.insert_json5("mode", "\"peer\"")?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("scouting/gossip/enabled", "false")?;
    config.insert_json5("listen/endpoints", "[\"tcp/127.0.0.1:0\"]")?;
    config.insert_json5("transport/shared_memory/enabled", "false")?;
    Ok(config)
}

/// The publisher of the chain's source, and the relays' subscribers, which exist as long as the chain.
struct Chain {
    source: Publisher<'static>,
    _subscribers: Vec<zenoh::pubsub::Subscriber<()>>,
}

impl Chain {
    /// Opens the chain. Each relay has memory for `room` records; if `room` is 0, relays forward messages without
    /// reading them.
    fn declare(session: &Session, relays: usize, latencies: Latencies, room: usize) -> Result<Self> {
        let mut subscribers = Vec::with_capacity(relays + 1);
        for place in 0..relays {
            let next = session.declare_publisher(key(place + 1)).wait()?;
            let declared = session.declare_subscriber(key(place));
            subscribers.push(match room {
                0 => declared.callback(move |sample| pass_on(&next, &sample)).wait()?,
                _ => declared.callback(recording(next, room)).wait()?,
            });
        }
        let arrive = move |sample: Sample| record(&latencies, sample.payload(), now_ns());
        subscribers.push(session.declare_subscriber(key(relays)).callback(arrive).wait()?);
        Ok(Self { source: session.declare_publisher(key(0)).wait()?, _subscribers: subscribers })
    }

    fn run(&self, messages: usize, period_ns: i64) -> Result<()> {
        let start_ns = now_ns() + SETTLE_NS;
        for message in 0..messages {
            wait_for(start_ns + message as i64 * period_ns);
            let mut frame = vec![0u8; FRAME_BYTES];
            frame[..8].copy_from_slice(&now_ns().to_le_bytes());
            self.source.put(frame).wait()?;
        }
        wait_for(now_ns() + SETTLE_NS);
        Ok(())
    }
}

fn pass_on(next: &Publisher<'_>, sample: &Sample) {
    next.put(sample.payload().clone()).wait().expect("a session is open");
}

/// Returns the callback of a measuring relay. A lock on the relay's records proves to the compiler that only one thread
/// at a time uses the records.
fn recording(next: Publisher<'static>, room: usize) -> impl Fn(Sample) + Send + Sync + 'static {
    let records = Mutex::new(Vec::with_capacity(room));
    move |sample| {
        let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
        let arrived_ns = now_ns();
        let seq = first_word(sample.payload());
        let forwarded_ns = now_ns();
        pass_on(&next, &sample);
        records.push(Record { seq, arrived_ns, forwarded_ns });
    }
}

fn key(place: usize) -> String {
    format!("bench/{place}")
}

fn record(latencies: &Latencies, frame: &ZBytes, arrived_ns: i64) {
    latencies.lock().unwrap_or_else(PoisonError::into_inner).push(arrived_ns - first_word(frame));
}

/// Returns the first eight bytes of a frame, which contain its send time.
fn first_word(frame: &ZBytes) -> i64 {
    let mut word = [0; 8];
    word.copy_from_slice(&frame.to_bytes()[..8]);
    i64::from_le_bytes(word)
}

fn wait_for(due_ns: i64) {
    let wake_ns = due_ns - SPIN_NS;
    let wake = Timespec { tv_sec: wake_ns / 1_000_000_000, tv_nsec: wake_ns % 1_000_000_000 };
    // If a signal ends the sleep early, the loop below spins for longer.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &wake);
    while now_ns() < due_ns {}
}

fn now_ns() -> i64 {
    let time = clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
