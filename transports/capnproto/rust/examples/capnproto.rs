//! Sends messages with Cap'n Proto RPC: start `example receive`, then `example send` in a second terminal. The sender
//! calls the receiver for each message. For calls with replies, start `example serve`, then `example call`.

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use capnp::message::ReaderOptions;
use capnp_rpc::rpc_twoparty_capnp::Side;
use capnp_rpc::twoparty::VatNetwork;
use capnp_rpc::{RpcSystem, new_client_from_rc};
use futures_util::io::{AsyncReadExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::compat::TokioAsyncReadCompatExt;

use example_capnp::example;

/// The code generated from example.capnp.
mod example_capnp {
    include!(concat!(env!("OUT_DIR"), "/example_capnp.rs"));
}

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const ADDRESS: &str = "127.0.0.1:4000";
const WINDOW_BYTES: usize = 65536;
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Server {
    count: Cell<u32>,
    done: Notify,
}

impl example::Server for Server {
    async fn deliver(self: Rc<Self>, call: example::DeliverParams) -> capnp::Result<()> {
        let is_whole = call.get()?.get_data()?.len() == PAYLOAD_BYTES;
        self.count.set(self.count.get() + u32::from(is_whole));
        Ok(())
    }

    async fn call(self: Rc<Self>, call: example::CallParams, mut results: example::CallResults) -> capnp::Result<()> {
        results.get().set_reply(call.get()?.get_request()?); // echoes the request as the reply
        self.count.set(self.count.get() + 1);
        Ok(())
    }

    async fn end(self: Rc<Self>, _: example::EndParams, _: example::EndResults) -> capnp::Result<()> {
        self.done.notify_one();
        Ok(())
    }
}

fn open(stream: TcpStream, side: Side, offer: Option<capnp::capability::Client>) -> RpcSystem<Side> {
    let mut options = ReaderOptions::new();
    options.traversal_limit_in_words(None); // the default limit is 64 MiB
    let (reader, writer) = stream.compat().split();
    let mut network = VatNetwork::new(BufReader::new(reader), BufWriter::new(writer), side, options);
    network.set_window_size(WINDOW_BYTES);
    RpcSystem::new(Box::new(network), offer)
}

/// Runs a server until a client has ended, and returns how many messages or calls arrived.
async fn run_server() -> Result<u32, Box<dyn Error>> {
    let server = Rc::new(Server::default());
    let offer: example::Client = new_client_from_rc(server.clone());
    let listener = TcpListener::bind(ADDRESS).await?;
    println!("ready");
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            spawn_local(open(stream, Side::Server, Some(offer.client.clone())));
        }
    });
    let limit = PATIENCE + Duration::from_secs_f64(f64::from(COUNT) / RATE_HZ);
    let _ = timeout(limit, server.done.notified()).await;
    sleep(Duration::from_millis(100)).await; // sends the last reply
    Ok(server.count.get())
}

async fn connect() -> Result<example::Client, Box<dyn Error>> {
    let stream = TcpStream::connect(ADDRESS).await?;
    stream.set_nodelay(true)?;
    let mut system = open(stream, Side::Client, None);
    let client = system.bootstrap(Side::Server);
    spawn_local(system);
    Ok(client)
}

/// Sends messages or makes calls, and returns how many messages were sent or how many replies arrived.
async fn run_client(makes_calls: bool) -> Result<u32, Box<dyn Error>> {
    let (client, begin, mut count) = (connect().await?, Instant::now(), 0);
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        if makes_calls {
            let mut request = client.call_request();
            request.get().set_request(&[0; PAYLOAD_BYTES]);
            let response = request.send().promise.await?;
            count += u32::from(response.get()?.get_reply()?.len() == PAYLOAD_BYTES);
        } else {
            let mut request = client.deliver_request();
            request.get().set_data(&[0; PAYLOAD_BYTES]);
            request.send().await?; // waits if too many bytes are on the way
            count += 1;
        }
    }
    client.end_request().send().promise.await?;
    Ok(count)
}

async fn run(side: &str) -> Result<(), Box<dyn Error>> {
    match side {
        "send" => println!("sent {} messages", run_client(false).await?),
        "call" => println!("received {} replies", run_client(true).await?),
        "serve" => println!("answered {} calls", run_server().await?),
        _ => println!("received {} messages", run_server().await?),
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let side = std::env::args().nth(1).unwrap_or_default();
    LocalSet::new().block_on(&Builder::new_current_thread().enable_all().build()?, run(&side))
}
