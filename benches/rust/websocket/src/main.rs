//! A ping-pong benchmark that uses only tungstenite, with one WebSocket for each direction. The sender is the server
//! and the receiver the client, as in transports/websocket.
//!
//! `hopmeter-bench-websocket BYTES ROUNDS CORES` prints the median round trip in nanoseconds. CORES are the cores of
//! the process that sends first and of the process that sends back: `A`, or `A,B`.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tungstenite::{Bytes, Message, WebSocket};

type Socket = WebSocket<TcpStream>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

const WARMUP: usize = 100;
const RELAY: &str = "relay";
/// The size in bytes of the largest block that makes glibc retain memory when the block is freed.
const MOST_KEPT_BYTES: usize = (32 << 20) - 8192;

fn main() -> Result<()> {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [RELAY, address, core] => relay(address, core.parse()?),
        [bytes, rounds, cores] => ask(bytes.parse()?, rounds.parse()?, cores),
        _ => Err("usage: hopmeter-bench-websocket BYTES ROUNDS CORES".into()),
    }
}

/// Sends each message back to the benchmark process, until that process ends. The relay process has its own session,
/// like hopmeter's nodes.
fn relay(address: &str, core: usize) -> Result<()> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    pin(core)?;
    keep_memory();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let mut came = connect(address)?;
    let mut back = accept(&listener)?;
    while let Ok(message) = came.read() {
        back.send(message)?;
    }
    Ok(())
}

fn ask(bytes: usize, rounds: usize, cores: &str) -> Result<()> {
    let (mine, other) = cores.split_once(',').unwrap_or((cores, cores));
    pin(mine.parse()?)?;
    keep_memory();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (mut child, address) = start(&listener.local_addr()?.to_string(), other)?;
    let mut there = accept(&listener)?;
    let mut back = connect(&address)?;
    let mut frame = Bytes::from(vec![0; bytes]);
    let trips = (0..WARMUP + rounds).map(|_| round_trip(&mut there, &mut back, &mut frame));
    let mut took = trips.collect::<Result<Vec<_>>>()?;
    drop((there, back));
    child.wait()?;
    let took = &mut took[WARMUP..];
    took.sort_unstable();
    println!("{}", took[rounds / 2]);
    Ok(())
}

/// Starts the relay process, and returns it with the address at which it listens.
fn start(address: &str, core: &str) -> Result<(Child, String)> {
    let mut child =
        Command::new(std::env::current_exe()?).args([RELAY, address, core]).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("a relay speaks")?).read_line(&mut line)?;
    Ok((child, line.trim().into()))
}

/// Returns the duration of one round trip in nanoseconds. tungstenite copies each message, so the program can write all
/// frames to one buffer.
fn round_trip(there: &mut Socket, back: &mut Socket, frame: &mut Bytes) -> Result<i64> {
    let sent_ns = now_ns();
    let mut written = std::mem::take(frame).try_into_mut().map_err(|_| "tungstenite has kept a frame")?;
    written[..8].copy_from_slice(&sent_ns.to_le_bytes());
    *frame = written.freeze();
    there.send(Message::Binary(frame.clone()))?;
    let came = back.read()?.into_data();
    let arrived_ns = now_ns();
    if came.len() != frame.len() || came[..8] != frame[..8] {
        return Err("what came back is not what was sent".into());
    }
    Ok(arrived_ns - sent_ns)
}

fn accept(listener: &TcpListener) -> Result<Socket> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(tungstenite::accept(stream)?)
}

fn connect(address: &str) -> Result<Socket> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(tungstenite::client(format!("ws://{address}/"), stream)?.0)
}

/// Makes glibc retain the memory of freed messages; bare.h gives the reason.
fn keep_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(MOST_KEPT_BYTES)));
}

fn pin(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(sched_setaffinity(None, &cores)?)
}

fn now_ns() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
