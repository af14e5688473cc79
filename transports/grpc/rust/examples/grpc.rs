//! Sends messages with gRPC: start `example receive`, then `example send` in a second terminal. The sender is the
//! server, and the receiver reads a stream. For calls, start `example serve`, then `example call`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

use example::example_client::ExampleClient;
use example::example_server::{Example, ExampleServer};
use example::{Message, Topic};

/// The code generated from example.proto, which uses prost and tonic_prost.
mod example {
    tonic::include_proto!("example");
}

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:50051";
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
struct Service {
    count: Arc<AtomicU32>,
    done: Arc<Notify>,
}

#[tonic::async_trait]
impl Example for Service {
    type SubscribeStream = ReceiverStream<Result<Message, Status>>;

    async fn subscribe(&self, topic: Request<Topic>) -> Result<Response<Self::SubscribeStream>, Status> {
        if topic.get_ref().name != TOPIC {
            return Err(Status::not_found("no such topic"));
        }
        let (sender, receiver) = mpsc::channel(16);
        let service = self.clone();
        tokio::spawn(async move {
            let begin = Instant::now();
            for number in 0..COUNT {
                sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
                if sender.send(Ok(Message { data: vec![0; PAYLOAD_BYTES] })).await.is_ok() {
                    service.count.fetch_add(1, SeqCst);
                }
            }
            service.done.notify_one();
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn call(&self, request: Request<Message>) -> Result<Response<Message>, Status> {
        if self.count.fetch_add(1, SeqCst) + 1 == COUNT {
            self.done.notify_one();
        }
        Ok(Response::new(request.into_inner())) // echoes the request as the reply
    }
}

/// Runs a server until its work is done, and returns how many messages or replies the server sent.
async fn run_server() -> Result<u32, Box<dyn Error>> {
    let service = Service::default();
    let (done, limit) = (service.done.clone(), PATIENCE + Duration::from_secs_f64(f64::from(COUNT) / RATE_HZ));
    let server = ExampleServer::new(service.clone()).max_decoding_message_size(usize::MAX);
    println!("ready");
    let until = async move { drop(timeout(limit, done.notified()).await) };
    Server::builder().add_service(server).serve_with_shutdown(ADDRESS.parse()?, until).await?;
    Ok(service.count.load(SeqCst))
}

/// Connects as soon as the server is listening.
async fn connect() -> Result<ExampleClient<Channel>, Box<dyn Error>> {
    let endpoint = Endpoint::from_shared(format!("http://{ADDRESS}"))?;
    let until = Instant::now() + PATIENCE;
    loop {
        match endpoint.connect().await {
            Ok(channel) => return Ok(ExampleClient::new(channel).max_decoding_message_size(usize::MAX)),
            Err(cause) if Instant::now() > until => return Err(cause.into()),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn receive() -> Result<u32, Box<dyn Error>> {
    println!("ready");
    let mut messages = connect().await?.subscribe(Topic { name: TOPIC.into() }).await?.into_inner();
    let mut count = 0;
    while let Some(message) = messages.message().await? {
        count += u32::from(message.data.len() == PAYLOAD_BYTES);
    }
    Ok(count)
}

async fn call() -> Result<u32, Box<dyn Error>> {
    let mut client = connect().await?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let reply = client.call(Message { data: vec![0; PAYLOAD_BYTES] }).await?.into_inner();
        count += u32::from(reply.data.len() == PAYLOAD_BYTES);
    }
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    match std::env::args().nth(1).as_deref() {
        Some("send") => println!("sent {} messages", runtime.block_on(run_server())?),
        Some("call") => println!("received {} replies", runtime.block_on(call())?),
        Some("serve") => println!("answered {} calls", runtime.block_on(run_server())?),
        _ => println!("received {} messages", runtime.block_on(receive())?),
    }
    Ok(())
}
