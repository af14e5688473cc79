//! Calls a Thrift service: start `example serve`, then `example call` in a second terminal.

// Build: thrift --gen rs -out src example.thrift
mod example;

use std::cell::Cell;
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use example::{AnswerSyncClient, AnswerSyncHandler, AnswerSyncProcessor, TAnswerSyncClient};
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};
use thrift::server::TProcessor;
use thrift::transport::{
    ReadHalf, TBufferedReadTransport, TBufferedWriteTransport, TIoChannel, TTcpChannel, WriteHalf,
};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const ADDRESS: &str = "127.0.0.1:9090";
const PATIENCE: Duration = Duration::from_secs(10);

type Input = TBinaryInputProtocol<TBufferedReadTransport<ReadHalf<TTcpChannel>>>;
type Output = TBinaryOutputProtocol<TBufferedWriteTransport<WriteHalf<TTcpChannel>>>;

fn open_protocols(stream: TcpStream) -> thrift::Result<(Input, Output)> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (read, write) = TTcpChannel::with_stream(stream).split()?;
    let input = TBinaryInputProtocol::new(TBufferedReadTransport::new(read), true);
    Ok((input, TBinaryOutputProtocol::new(TBufferedWriteTransport::new(write), true)))
}

fn call() -> thrift::Result<()> {
    let (input, output) = open_protocols(TcpStream::connect(ADDRESS)?)?;
    let mut client = AnswerSyncClient::new(input, output);
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        count += u32::from(client.call(vec![0; PAYLOAD_BYTES])?.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

struct Server<'a> {
    calls: &'a Cell<u32>,
}

impl AnswerSyncHandler for Server<'_> {
    fn handle_call(&self, request: Vec<u8>) -> thrift::Result<Vec<u8>> {
        self.calls.set(self.calls.get() + 1);
        Ok(request) // echoes the request as the reply
    }
}

/// Serves one client until it disconnects. Thrift's `TServer` serves many clients, and never returns.
fn serve() -> thrift::Result<()> {
    let listener = TcpListener::bind(ADDRESS)?;
    println!("ready");
    let (mut input, mut output) = open_protocols(listener.accept()?.0)?;
    let calls = Cell::new(0);
    let processor = AnswerSyncProcessor::new(Server { calls: &calls });
    while processor.process(&mut input, &mut output).is_ok() {}
    println!("answered {} calls", calls.get());
    Ok(())
}

fn main() -> thrift::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("call") { call() } else { serve() }
}
