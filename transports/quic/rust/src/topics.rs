//! Publish-subscribe: a publisher opens one unidirectional stream to each of its receivers, or sends datagrams.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use hopmeter_tokio::frames::{Frames, as_received};
use quinn::{Connection, RecvStream, SendDatagramError, SendStream};
use tokio::task::JoinHandle;

use crate::Quic;
use crate::listener::Listener;

/// The size of the number that precedes each frame on a stream. The number is the frame's length.
const PREFIX_BYTES: usize = 8;
/// The longest time that a closing publisher waits for its receivers to confirm all bytes.
const FAREWELL: Duration = Duration::from_millis(100);

/// How a publisher sends frames to one of its receivers.
enum Receiver {
    Stream(SendStream),
    /// A task sends the rest of a frame, because the receiver's window is full.
    Behind(JoinHandle<Option<SendStream>>),
    Datagrams(Connection),
    Gone,
}

impl Receiver {
    /// Whether the receiver still lacks a part of an earlier frame.
    fn is_behind(&mut self) -> bool {
        if let Self::Behind(sending) = self {
            let Some(sent) = sending.now_or_never() else { return true };
            *self = sent.ok().flatten().map_or(Self::Gone, Self::Stream);
        }
        false
    }

    /// Sends the rest of the stream, and waits until the receiver has confirmed it.
    async fn finish(self) {
        let stream = match self {
            Self::Stream(stream) => Some(stream),
            Self::Behind(sending) => sending.await.ok().flatten(),
            Self::Datagrams(_) | Self::Gone => None,
        };
        if let Some(mut stream) = stream {
            let _ = stream.finish().is_ok() && stream.stopped().await.is_ok();
        }
    }

    fn send(self, runtime: &Runtime, frame: &Bytes) -> Result<Self> {
        Ok(match self {
            Self::Stream(stream) => write(stream, runtime, frame),
            Self::Datagrams(connection) => match connection.send_datagram(frame.clone()) {
                Ok(()) => Self::Datagrams(connection),
                Err(SendDatagramError::ConnectionLost(_)) => Self::Gone,
                Err(cause) => return Err(too_large(frame, &connection).because(cause)),
            },
            other => other,
        })
    }
}

/// Passes a frame to quinn, which copies only the prefix. quinn accepts as many bytes as the receiver's window and
/// quinn's own send window allow.
fn write(mut stream: SendStream, runtime: &Runtime, frame: &Bytes) -> Receiver {
    let prefix = Bytes::copy_from_slice(&(frame.len() as u64).to_le_bytes());
    let mut rest = [prefix, frame.clone()];
    match stream.write_all_chunks(&mut rest).now_or_never() {
        Some(Ok(())) => Receiver::Stream(stream),
        Some(Err(_)) => Receiver::Gone,
        // quinn has emptied the chunks that it has accepted.
        None => Receiver::Behind(
            runtime.spawn(async move { stream.write_all_chunks(&mut rest).await.ok().map(|()| stream) }),
        ),
    }
}

fn too_large(frame: &Bytes, connection: &Connection) -> Error {
    let most = connection.max_datagram_size().unwrap_or(0);
    Error::new(format!("a frame of {} bytes does not fit into a QUIC datagram, whose limit is {most}", frame.len()))
        .remedy("send smaller payloads, or leave datagrams = false")
}

pub struct TopicPublisher {
    listener: Listener,
    receivers: Arc<Mutex<Vec<Receiver>>>,
    frames: Frames,
}

impl TopicPublisher {
    pub fn open(quic: &Quic) -> Result<Self> {
        let receivers = Arc::<Mutex<Vec<Receiver>>>::default();
        let (joining, has_datagrams) = (receivers.clone(), quic.has_datagrams);
        let listener = Listener::open(quic, move |connection| {
            let receivers = joining.clone();
            async move {
                let receiver = if has_datagrams {
                    Receiver::Datagrams(connection)
                } else {
                    connection.open_uni().await.map_or(Receiver::Gone, Receiver::Stream)
                };
                lock(&receivers).push(receiver);
            }
        })?;
        Ok(Self { listener, receivers, frames: Frames::default() })
    }

    /// Whether every receiver has its earlier frames.
    fn is_ready(&self) -> bool {
        lock(&self.receivers).iter_mut().all(|receiver| !receiver.is_behind())
    }

    fn deliver(&self, frame: &Bytes) -> Result<Sent> {
        let mut receivers = lock(&self.receivers);
        for receiver in receivers.iter_mut() {
            *receiver = std::mem::replace(receiver, Receiver::Gone).send(&self.listener.runtime, frame)?;
        }
        receivers.retain(|receiver| !matches!(receiver, Receiver::Gone));
        Ok(Sent::Accepted)
    }
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.listener.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if !self.is_ready() {
            return Ok(Sent::Busy);
        }
        let frame = self.frames.write(payload_bytes, fill);
        self.deliver(&frame)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<Bytes>() {
            Some(_) if !self.is_ready() => Ok(Sent::Busy),
            Some(frame) => self.deliver(frame),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

impl Drop for TopicPublisher {
    /// Waits for a short time until the receivers have confirmed all bytes, because closing discards unsent bytes.
    fn drop(&mut self) {
        let receivers = std::mem::take(&mut *lock(&self.receivers));
        let runtime = &self.listener.runtime;
        let finishing: Vec<_> = receivers.into_iter().map(|receiver| runtime.spawn(receiver.finish())).collect();
        runtime.wait_for(FAREWELL, async {
            for each in finishing {
                let _ = each.await;
            }
        });
    }
}

/// Reads the frames of a connection, from its first stream or from its datagrams.
pub struct FrameReader {
    connection: Connection,
    stream: Option<RecvStream>,
    has_datagrams: bool,
    /// The prefix of an incomplete frame, followed by the bytes of the frame that have arrived.
    partial: BytesMut,
    frame_bytes: usize,
}

impl FrameReader {
    pub fn new(connection: Connection, frame_bytes: usize, has_datagrams: bool) -> Self {
        Self { connection, stream: None, has_datagrams, partial: BytesMut::new(), frame_bytes }
    }

    /// Waits for the next frame. Returns `None` if the publisher has disconnected. If the caller drops the future, no
    /// bytes are lost, and the next call continues.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.has_datagrams {
            return Ok(self.connection.read_datagram().await.ok());
        }
        if !self.fill_up_to(PREFIX_BYTES).await {
            return Ok(None);
        }
        let length = u64::from_le_bytes(std::array::from_fn(|at| self.partial[at])) as usize;
        if length > self.frame_bytes {
            let message = format!("a frame of {length} bytes was announced, but the limit is {}", self.frame_bytes);
            return Err(Error::new(message).remedy("the sender is not a node of this trial"));
        }
        if !self.fill_up_to(PREFIX_BYTES + length).await {
            return Ok(None);
        }
        let frame = self.partial.split().freeze();
        Ok(Some(frame.slice(PREFIX_BYTES..)))
    }

    /// Reads until `partial` has the given length. Returns false if the stream or the connection ends first.
    async fn fill_up_to(&mut self, bytes: usize) -> bool {
        while self.partial.len() < bytes {
            let Some(stream) = &mut self.stream else {
                let Ok(stream) = self.connection.accept_uni().await else { return false };
                self.stream = Some(stream);
                continue;
            };
            let Ok(Some(chunk)) = stream.read_chunk(bytes - self.partial.len(), true).await else { return false };
            self.partial.reserve(bytes - self.partial.len());
            self.partial.extend_from_slice(&chunk.bytes);
        }
        true
    }

    /// Passes all frames to a callback, until the publisher disconnects.
    pub async fn call(mut self, mut on_frame: OnFrame) {
        while let Ok(Some(frame)) = self.next().await {
            on_frame.call(as_received(&frame));
        }
    }
}

pub struct TopicSubscriber {
    pub runtime: Runtime,
    pub frames: FrameReader,
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(next) = self.runtime.wait_for(timeout, self.frames.next()) else { return Ok(0) };
        let Some(frame) = next? else {
            std::thread::sleep(timeout); // without this pause, the role would poll in a busy loop
            return Ok(0);
        };
        take(as_received(&frame));
        Ok(1)
    }
}
