//! Makes calls over HTTP: start `example serve`, then `example call` in a second terminal.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::routing::post;
use axum::{Router, http::header::CONTENT_TYPE};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:8080";
const KEEP_ALIVE: bool = true;
const WORKERS: usize = 1;
const PATIENCE: Duration = Duration::from_secs(10);
const OCTETS: &str = "application/octet-stream";

async fn call() -> Result<(), Box<dyn Error>> {
    // This build of reqwest has no cryptography of its own, and needs one even for unencrypted requests.
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let mut request = client.post(format!("http://{ADDRESS}/{TOPIC}")).header(CONTENT_TYPE, OCTETS);
        if !KEEP_ALIVE {
            request = request.header("connection", "close");
        }
        let reply = request.body(vec![0; PAYLOAD_BYTES]).send().await?.error_for_status()?;
        count += u32::from(reply.bytes().await?.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let (count, done) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (counted, notify) = (count.clone(), done.clone());
    let answer = move |body: Bytes| async move {
        if body.len() == PAYLOAD_BYTES && counted.fetch_add(1, Ordering::Relaxed) + 1 == COUNT {
            notify.notify_one();
        }
        ([(CONTENT_TYPE, OCTETS)], body)
    };
    let app = Router::new().route(&format!("/{TOPIC}"), post(answer));
    let listener = TcpListener::bind(ADDRESS).await?;
    println!("ready");
    axum::serve(listener, app).with_graceful_shutdown(async move { done.notified().await }).await?;
    println!("answered {} calls", count.load(Ordering::Relaxed));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    match std::env::args().nth(1).as_deref() {
        Some("call") => runtime.block_on(call()),
        _ => runtime.block_on(serve()),
    }
}
