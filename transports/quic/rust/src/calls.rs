//! Calls: a client opens one bidirectional stream for each call. In each direction, the stream contains one message.

use std::time::Duration;

use bytes::Bytes;
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use hopmeter_tokio::calls::{Calls, Carried, PendingCall, QueuedServer, ask};
use quinn::{Connection, RecvStream, SendStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::Quic;
use crate::listener::Listener;

pub struct CallClient {
    calls: Calls<Bytes>,
    connection: Connection,
    frame_bytes: usize,
}

impl CallClient {
    pub fn new(runtime: Runtime, connection: Connection, frame_bytes: usize) -> Self {
        Self { calls: Calls::new(runtime), connection, frame_bytes }
    }
}

impl Client for CallClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let (connection, frame_bytes) = (self.connection.clone(), self.frame_bytes);
        let request = Bytes::write(payload_bytes, fill);
        self.calls.start(async move {
            let (mut request_stream, mut reply_stream) = connection.open_bi().await.ok()?;
            request_stream.write_chunk(request).await.ok()?;
            request_stream.finish().ok()?;
            reply_stream.read_to_end(frame_bytes).await.ok().map(Bytes::from)
        });
        Ok(Sent::Accepted)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        Ok(self.calls.poll(timeout, take))
    }
}

pub fn open_server(quic: &Quic, link: &Link) -> Result<Box<dyn Server>> {
    let (sender, requests) = unbounded_channel();
    let frame_bytes = link.frame_bytes;
    let bound = Listener::open(quic, move |connection| answer_all(connection, sender.clone(), frame_bytes))?;
    let (address, runtime) = (bound.address.clone(), bound.runtime.clone());
    Ok(Box::new(QueuedServer { requests, bound, address, runtime }))
}

async fn answer_all(connection: Connection, requests: UnboundedSender<PendingCall<Bytes>>, frame_bytes: usize) {
    while let Ok((reply_stream, request_stream)) = connection.accept_bi().await {
        tokio::spawn(answer(request_stream, reply_stream, requests.clone(), frame_bytes));
    }
}

/// Answers one call. If there is no reply, the function resets the stream, so that the client does not wait. Returns
/// `None` if the client has disconnected or its request is too large.
async fn answer(
    mut request_stream: RecvStream,
    mut reply_stream: SendStream,
    requests: UnboundedSender<PendingCall<Bytes>>,
    frame_bytes: usize,
) -> Option<()> {
    let request = request_stream.read_to_end(frame_bytes).await.ok()?;
    match ask(&requests, request.into()).await {
        Some(reply) => reply_stream.write_chunk(reply).await.ok()?,
        None => return reply_stream.reset(0_u32.into()).ok(),
    }
    reply_stream.finish().ok()
}
