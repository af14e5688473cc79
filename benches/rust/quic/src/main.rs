//! A ping-pong benchmark that uses only quinn, with one connection for each direction. On each connection, the sender
//! is the QUIC server and the receiver is the client, as in transports/quic. One thread runs quinn, and the main thread
//! waits for each message.
//!
//! `hopmeter-bench-quic BYTES ROUNDS CORES` prints the median round trip in nanoseconds. CORES is `A` or `A,B`: the
//! core of the process that starts each round trip, and the core of the process that returns the message.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::{Bytes, BytesMut};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Endpoint, RecvStream, SendStream, ServerConfig};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const WARMUP: usize = 100;
const RELAY: &str = "relay";
const NAME: &str = "localhost";
/// The size in bytes of the largest block that makes glibc retain memory when the block is freed.
const MOST_KEPT_BYTES: usize = (32 << 20) - 8192;

fn main() -> Result<()> {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [RELAY, address, core] => relay(address, core.parse()?),
        [bytes, rounds, cores] => ask(bytes.parse()?, rounds.parse()?, cores),
        _ => Err("usage: hopmeter-bench-quic BYTES ROUNDS CORES".into()),
    }
}

/// Sends each message back to the benchmark process, until that process ends. The relay process has its own session,
/// like hopmeter's nodes.
fn relay(address: &str, core: usize) -> Result<()> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let runtime = start_runtime(core)?;
    let (listener, own_address) = listen(&runtime)?;
    println!("{own_address}");
    let mut came = Incoming { client: connecting(&runtime)?, stream: None };
    let connection = runtime.block_on(connect(&came.client, address))?;
    let mut back = runtime.block_on(accept(&listener))?;
    came.stream = Some(runtime.block_on(connection.accept_uni())?);
    while let Ok(frame) = runtime.block_on(read(came.stream()?)) {
        runtime.block_on(write(&mut back, &frame))?;
    }
    Ok(())
}

fn ask(bytes: usize, rounds: usize, cores: &str) -> Result<()> {
    let (mine, other) = cores.split_once(',').unwrap_or((cores, cores));
    let runtime = start_runtime(mine.parse()?)?;
    let (listener, address) = listen(&runtime)?;
    let (mut child, relay_address) = start(&address, other)?;
    let mut there = runtime.block_on(accept(&listener))?;
    let mut back = Incoming { client: connecting(&runtime)?, stream: None };
    let connection = runtime.block_on(connect(&back.client, &relay_address))?;
    let mut took = Vec::with_capacity(WARMUP + rounds);
    for _ in 0..WARMUP + rounds {
        let mut frame = BytesMut::zeroed(bytes);
        let sent_ns = now_ns();
        frame[..8].copy_from_slice(&sent_ns.to_le_bytes());
        let frame = frame.freeze();
        runtime.block_on(write(&mut there, &frame))?;
        if back.stream.is_none() {
            back.stream = Some(runtime.block_on(connection.accept_uni())?);
        }
        let came = runtime.block_on(read(back.stream()?))?;
        took.push(now_ns() - sent_ns);
        if came != frame {
            return Err("what came back is not what was sent".into());
        }
    }
    let _ = child.kill();
    child.wait()?;
    let took = &mut took[WARMUP..];
    took.sort_unstable();
    println!("{}", took[rounds / 2]);
    Ok(())
}

/// The socket and the stream of a receiver's connection. quinn reports the stream only when its first message arrives.
struct Incoming {
    client: Endpoint,
    stream: Option<RecvStream>,
}

impl Incoming {
    fn stream(&mut self) -> Result<&mut RecvStream> {
        self.stream.as_mut().ok_or_else(|| "no message has arrived".into())
    }
}

/// Starts the relay process. Returns the process, and the address at which the process listens.
fn start(address: &str, core: &str) -> Result<(Child, String)> {
    let mut child =
        Command::new(std::env::current_exe()?).args([RELAY, address, core]).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("a relay speaks")?).read_line(&mut line)?;
    Ok((child, line.trim().into()))
}

/// Binds a UDP port with a new certificate. Returns the endpoint, and a text with the port's address and certificate.
fn listen(runtime: &Runtime) -> Result<(Endpoint, String)> {
    let created = rcgen::generate_simple_self_signed([NAME.to_string()])?;
    let key = PrivatePkcs8KeyDer::from(created.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![created.cert.der().clone()], key.into())?;
    let _in_runtime = runtime.enter();
    let endpoint = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
    let address = format!("{}/{}", endpoint.local_addr()?, BASE64_STANDARD.encode(created.cert.der()));
    Ok((endpoint, address))
}

fn connecting(runtime: &Runtime) -> Result<Endpoint> {
    let _in_runtime = runtime.enter();
    Ok(Endpoint::client("0.0.0.0:0".parse()?)?)
}

async fn connect(client: &Endpoint, address: &str) -> Result<quinn::Connection> {
    let (place, certificate) = address.split_once('/').ok_or("an address has a certificate")?;
    let mut accepted = RootCertStore::empty();
    accepted.add(BASE64_STANDARD.decode(certificate)?.into())?;
    let config = ClientConfig::with_root_certificates(Arc::new(accepted))?;
    Ok(client.connect_with(config, place.parse()?, NAME)?.await?)
}

async fn accept(listener: &Endpoint) -> Result<SendStream> {
    let connection = listener.accept().await.ok_or("the endpoint is closed")?.await?;
    Ok(connection.open_uni().await?)
}

async fn write(stream: &mut SendStream, frame: &Bytes) -> Result<()> {
    let prefix = Bytes::copy_from_slice(&(frame.len() as u64).to_le_bytes());
    Ok(stream.write_all_chunks(&mut [prefix, frame.clone()]).await?)
}

async fn read(stream: &mut RecvStream) -> Result<Bytes> {
    let mut prefix = [0; 8];
    stream.read_exact(&mut prefix).await?;
    let bytes = u64::from_le_bytes(prefix).try_into()?;
    let mut frame = BytesMut::with_capacity(bytes);
    while frame.len() < bytes {
        let chunk = stream.read_chunk(bytes - frame.len(), true).await?.ok_or("the stream ended")?;
        frame.extend_from_slice(&chunk.bytes);
    }
    Ok(frame.freeze())
}

fn start_runtime(core: usize) -> Result<Runtime> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)?;
    // Makes glibc retain the memory of freed messages; bare.h gives the reason.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(MOST_KEPT_BYTES)));
    Ok(Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

fn now_ns() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
