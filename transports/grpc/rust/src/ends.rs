//! The link ends: publishers and servers bind, subscribers and clients connect.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver as Queue, Sender, channel};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_tokio::{Runtime, Task};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Streaming;
use tonic::transport::Channel;

use crate::frames::Frame;
use crate::service::{RunningServer, Streams};
use crate::wire::link_client::LinkClient;
use crate::wire::{Image, Receiver, Timing};

type Stub = LinkClient<Channel>;
/// How long a subscriber that opens a stream waits for the stream's first message.
const ASKING: Duration = Duration::from_millis(20);

pub struct TopicPublisher {
    pub bound: RunningServer,
    pub streams: Streams,
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.bound.address.clone()
    }

    /// Serialises the frame once and queues it for every stream. Returns busy if a stream's queue is full.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut streams = lock(&self.streams);
        streams.retain(|stream| !stream.is_closed());
        if streams.iter().any(|stream| stream.capacity() == 0) {
            // A sending callback occupies a thread of the runtime, so another thread must drive the streams during the
            // send.
            tokio::task::block_in_place(std::thread::yield_now);
            return Ok(Sent::Busy);
        }
        let frame = Frame::write(payload_bytes, fill);
        for stream in streams.iter() {
            // A stream that was closed during the send gets no more messages.
            drop(stream.try_send(frame.clone()));
        }
        Ok(Sent::Accepted)
    }
}

impl Drop for TopicPublisher {
    /// A stream ends when its sender is dropped.
    fn drop(&mut self) {
        lock(&self.streams).clear();
    }
}

type Opening = Pin<Box<dyn Future<Output = std::result::Result<Messages, tonic::Status>> + Send>>;

enum Messages {
    /// A stream that was requested, but that the publisher has not answered yet. A publisher may answer the request for
    /// a stream only with its first message.
    Opening(Opening),
    Timing(Streaming<Timing>),
    Image(Streaming<Image>),
    Ended,
}

impl Messages {
    async fn open(mut stub: Stub, kind: PayloadKind) -> std::result::Result<Self, tonic::Status> {
        Ok(match kind {
            PayloadKind::Image { .. } => Self::Image(stub.stream_image(Receiver {}).await?.into_inner()),
            PayloadKind::Timing | PayloadKind::Bytes => {
                Self::Timing(stub.stream_timing(Receiver {}).await?.into_inner())
            }
        })
    }

    /// Returns the next frame, or `None` at the end of the stream. No frame is lost if the wait for a frame is
    /// cancelled.
    async fn next(&mut self) -> Option<Frame> {
        if let Self::Opening(opening) = self {
            *self = opening.as_mut().await.unwrap_or(Self::Ended);
        }
        let frame = match self {
            Self::Timing(stream) => stream.message().await.ok().flatten().map(Frame::from),
            Self::Image(stream) => stream.message().await.ok().flatten().map(Frame::from),
            Self::Opening(_) | Self::Ended => None,
        };
        if frame.is_none() {
            // After an error, such as a message over the size limit, tonic would continue to read in the middle of that
            // message.
            *self = Self::Ended;
        }
        frame
    }
}

pub struct TopicSubscriber {
    runtime: Runtime,
    messages: Messages,
    /// A message that arrived while the stream was being opened.
    early: Option<Frame>,
}

impl TopicSubscriber {
    pub fn open(runtime: Runtime, stub: Stub, kind: PayloadKind) -> Self {
        let mut messages = Messages::Opening(Box::pin(Messages::open(stub, kind)));
        // Polling `messages` sends the request for the stream.
        let first = runtime.wait_for(ASKING, messages.next());
        Self { runtime, messages, early: first.flatten() }
    }

    /// Passes every frame to `on_frame`, in a task of the runtime.
    pub fn call(self, mut on_frame: OnFrame) -> Task {
        let Self { runtime, mut messages, early } = self;
        runtime.call(async move {
            if let Some(frame) = early {
                on_frame.call(frame.as_received());
            }
            while let Some(frame) = messages.next().await {
                on_frame.call(frame.as_received());
            }
        })
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if let Some(frame) = self.early.take() {
            take(frame.as_received());
            return Ok(1);
        }
        match self.runtime.wait_for(timeout, self.messages.next()) {
            Some(Some(frame)) => {
                take(frame.as_received());
                Ok(1)
            }
            Some(None) => {
                std::thread::sleep(timeout);
                Ok(0)
            }
            None => Ok(0),
        }
    }
}

/// The client of an rpc link. A tonic task makes each call and stores its reply until a poll.
pub struct CallClient {
    runtime: Runtime,
    stub: Stub,
    kind: PayloadKind,
    sender: Sender<Frame>,
    replies: Queue<Frame>,
    calls: VecDeque<JoinHandle<()>>,
}

impl CallClient {
    pub fn new(runtime: Runtime, stub: Stub, kind: PayloadKind) -> Self {
        let (sender, replies) = channel();
        Self { runtime, stub, kind, sender, replies, calls: VecDeque::new() }
    }
}

impl Client for CallClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let frame = Frame::write(payload_bytes, fill);
        let (mut stub, kind, replies) = (self.stub.clone(), self.kind, self.sender.clone());
        self.calls.retain(|call| !call.is_finished());
        self.calls.push_back(self.runtime.spawn(async move {
            let reply = match kind {
                PayloadKind::Image { .. } => stub.call_image(frame.image(kind)).await.map(|it| it.into_inner().into()),
                _ => stub.call_timing(frame.timing()).await.map(|it| it.into_inner().into()),
            };
            // A call that fails because its server has disconnected counts as unanswered.
            if let Ok(reply) = reply {
                drop(replies.send(reply));
            }
        }));
        Ok(Sent::Accepted)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Ok(reply) = self.replies.recv_timeout(timeout) else { return Ok(0) };
        take(reply.as_received());
        Ok(1)
    }
}

impl Drop for CallClient {
    fn drop(&mut self) {
        for call in self.calls.drain(..) {
            self.runtime.end(call);
        }
    }
}

/// A request and the channel for its reply.
pub type PendingCall = (Frame, oneshot::Sender<Frame>);

/// The server of an rpc link. A tonic task waits until a poll or a callback has produced the reply.
pub struct CallServer {
    /// This field must be dropped before the server, because dropping the server waits for running calls. Dropping the
    /// field makes the requests of the running calls count as unanswered.
    pub requests: UnboundedReceiver<PendingCall>,
    pub bound: RunningServer,
    pub runtime: Runtime,
}

fn respond((request, answer): PendingCall, handle: Handle<'_>) {
    handle(request.as_received(), &mut CallReplier(Some(answer)));
}

impl Server for CallServer {
    fn address(&self) -> String {
        self.bound.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let next = self.runtime.wait_for(timeout, self.requests.recv());
        let Some(Some(asked)) = next else { return Ok(0) };
        respond(asked, handle);
        Ok(1)
    }

    /// Serves this link in a separate task, so that the link's calls never overlap.
    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { mut requests, bound, runtime } = *self;
        let task = runtime.call(async move {
            while let Some(asked) = requests.recv().await {
                // The handler may wait for another server, so the runtime continues on another thread.
                tokio::task::block_in_place(|| respond(asked, &mut *on_request));
            }
        });
        Ok(Box::new(ServingTask { _task: task, _bound: bound }))
    }
}

/// The task is dropped before the server, because Rust drops a struct's fields in declaration order.
struct ServingTask {
    _task: Task,
    _bound: RunningServer,
}

impl Subscription for ServingTask {}

struct CallReplier(Option<oneshot::Sender<Frame>>);

impl Replier for CallReplier {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let answer = self.0.take().ok_or_else(|| Error::new("this request has already been answered"))?;
        // A client that has disconnected receives no reply.
        drop(answer.send(Frame::write(payload_bytes, fill)));
        Ok(Sent::Accepted)
    }
}
