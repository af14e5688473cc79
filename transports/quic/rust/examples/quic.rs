//! Sends messages over QUIC: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`. The waiting program writes its certificate to a file, and the
//! other program accepts only this certificate.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until, timeout};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const ADDRESS: &str = "127.0.0.1:4433";
const STREAM_RECEIVE_WINDOW: u32 = 1250000;
const KEEP_ALIVE_INTERVAL_MS: u64 = 0; // 0: never
const CERTIFICATE: &str = "certificate.der";
const NAME: &str = "localhost";
const PATIENCE: Duration = Duration::from_secs(10);

type Outcome = Result<(), Box<dyn Error>>;

fn options() -> Arc<TransportConfig> {
    let mut options = TransportConfig::default();
    options
        .stream_receive_window(STREAM_RECEIVE_WINDOW.into())
        .keep_alive_interval((KEEP_ALIVE_INTERVAL_MS != 0).then_some(Duration::from_millis(KEEP_ALIVE_INTERVAL_MS)));
    Arc::new(options)
}

async fn connect() -> Result<(Endpoint, Connection), Box<dyn Error>> {
    let mut accepted = RootCertStore::empty();
    accepted.add(std::fs::read(CERTIFICATE)?.into())?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(accepted))?;
    config.transport_config(options());
    let endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    let connection = endpoint.connect_with(config, ADDRESS.parse()?, NAME)?.await?;
    Ok((endpoint, connection))
}

/// Waits for one client, and returns its connection.
async fn accept() -> Result<(Endpoint, Connection), Box<dyn Error>> {
    let created = rcgen::generate_simple_self_signed([NAME.to_string()])?;
    let key = PrivatePkcs8KeyDer::from(created.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![created.cert.der().clone()], key.into())?;
    config.transport_config(options());
    let endpoint = Endpoint::server(config, ADDRESS.parse()?)?;
    std::fs::write(CERTIFICATE, created.cert.der())?;
    println!("ready");
    let incoming = timeout(PATIENCE, endpoint.accept()).await;
    let connection = incoming?.ok_or("the endpoint is closed")?.await;
    std::fs::remove_file(CERTIFICATE)?;
    Ok((endpoint, connection?))
}

async fn send() -> Outcome {
    let (endpoint, connection) = connect().await?;
    let mut stream = connection.open_uni().await?;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        stream.write_all(&(PAYLOAD_BYTES as u64).to_le_bytes()).await?;
        stream.write_all(&[0; PAYLOAD_BYTES]).await?;
    }
    stream.finish()?;
    timeout(PATIENCE, connection.closed()).await?; // the receiver closes when it has all messages
    endpoint.wait_idle().await;
    println!("sent {COUNT} messages");
    Ok(())
}

async fn receive() -> Outcome {
    let (endpoint, connection) = accept().await?;
    let mut stream = timeout(PATIENCE, connection.accept_uni()).await??;
    let (mut count, mut length) = (0, [0; 8]);
    while count < COUNT && timeout(PATIENCE, stream.read_exact(&mut length)).await?.is_ok() {
        let mut message = vec![0; u64::from_le_bytes(length).try_into()?];
        stream.read_exact(&mut message).await?;
        count += u32::from(message.len() == PAYLOAD_BYTES);
    }
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    println!("received {count} messages");
    Ok(())
}

/// Opens a stream for each call. The end of a stream is the end of the request or reply.
async fn call() -> Outcome {
    let (endpoint, connection) = connect().await?;
    let mut count = 0;
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let (mut request, mut reply) = connection.open_bi().await?;
        request.write_all(&[0; PAYLOAD_BYTES]).await?;
        request.finish()?;
        count += u32::from(timeout(PATIENCE, reply.read_to_end(PAYLOAD_BYTES)).await??.len() == PAYLOAD_BYTES);
    }
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    println!("received {count} replies");
    Ok(())
}

async fn serve() -> Outcome {
    let (endpoint, connection) = accept().await?;
    let mut count = 0;
    while let Ok((mut reply, mut request)) = timeout(PATIENCE, connection.accept_bi()).await? {
        reply.write_all(&request.read_to_end(PAYLOAD_BYTES).await?).await?; // echoes the request as the reply
        reply.finish()?;
        count += 1;
    }
    endpoint.wait_idle().await; // the client has closed
    println!("answered {count} calls");
    Ok(())
}

fn main() -> Outcome {
    let runtime = Runtime::new()?;
    match std::env::args().nth(1).as_deref() {
        Some("send") => runtime.block_on(send()),
        Some("call") => runtime.block_on(call()),
        Some("serve") => runtime.block_on(serve()),
        _ => runtime.block_on(receive()),
    }
}
