//! The ends of a link: publishers and servers bind, the others connect.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
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
use crate::service::{Bound, Streams};
use crate::wire::link_client::LinkClient;
use crate::wire::{Image, Receiver, Timing};

type Stub = LinkClient<Channel>;
/// How long a stream is looked at before anybody polls it.
const ASKING: Duration = Duration::from_millis(20);

pub struct Sending {
    pub bound: Bound,
    pub streams: Streams,
}

impl Publisher for Sending {
    fn address(&self) -> String {
        self.bound.address.clone()
    }

    /// Written once and handed to every stream; busy while one of them has too many before it.
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| !stream.is_closed());
        if streams.iter().any(|stream| stream.capacity() == 0) {
            // A callback sends on the runtime's own thread: another one takes the streams on meanwhile.
            tokio::task::block_in_place(std::thread::yield_now);
            return Ok(Sent::Busy);
        }
        let frame = Frame::written(payload_bytes, fill);
        for stream in streams.iter() {
            // One that has closed meanwhile gets nothing any more.
            drop(stream.try_send(frame.clone()));
        }
        Ok(Sent::Accepted)
    }
}

impl Drop for Sending {
    /// Streams without a sender end.
    fn drop(&mut self) {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

type Opening = Pin<Box<dyn Future<Output = std::result::Result<Messages, tonic::Status>> + Send>>;

enum Messages {
    /// Asked for; a publisher may answer only with its first message.
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

    /// The next frame; none where the publisher has ended the stream or is gone. Nothing is lost by giving up waiting.
    async fn next(&mut self) -> Option<Frame> {
        if let Self::Opening(opening) = self {
            *self = opening.as_mut().await.unwrap_or(Self::Ended);
        }
        match self {
            Self::Timing(stream) => stream.message().await.ok().flatten().map(Frame::from),
            Self::Image(stream) => stream.message().await.ok().flatten().map(Frame::from),
            Self::Opening(_) | Self::Ended => None,
        }
    }
}

pub struct Receiving {
    runtime: Runtime,
    messages: Messages,
    /// What came while the stream was being asked for.
    early: Option<Frame>,
}

impl Receiving {
    pub fn open(runtime: Runtime, stub: Stub, kind: PayloadKind) -> Self {
        let mut messages = Messages::Opening(Box::pin(Messages::open(stub, kind)));
        // It is only asked for when it is looked at.
        let first = runtime.wait_for(ASKING, messages.next());
        Self { runtime, messages, early: first.flatten() }
    }

    /// Hands every frame over on a task of the runtime.
    pub fn call(self, mut on_frame: OnFrame) -> Task {
        let Self { runtime, mut messages, early } = self;
        runtime.call(async move {
            if let Some(frame) = early {
                on_frame.call(frame.received());
            }
            while let Some(frame) = messages.next().await {
                on_frame.call(frame.received());
            }
        })
    }
}

impl Subscriber for Receiving {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if let Some(frame) = self.early.take() {
            take(frame.received());
            return Ok(1);
        }
        match self.runtime.wait_for(timeout, self.messages.next()) {
            Some(Some(frame)) => {
                take(frame.received());
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

/// The asking end: tonic's task makes the call, the reply waits for a poll.
pub struct Asking {
    runtime: Runtime,
    stub: Stub,
    kind: PayloadKind,
    sender: Sender<Frame>,
    replies: Queue<Frame>,
    calls: VecDeque<JoinHandle<()>>,
}

impl Asking {
    pub fn new(runtime: Runtime, stub: Stub, kind: PayloadKind) -> Self {
        let (sender, replies) = channel();
        Self { runtime, stub, kind, sender, replies, calls: VecDeque::new() }
    }
}

impl Client for Asking {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let frame = Frame::written(payload_bytes, fill);
        let (mut stub, kind, replies) = (self.stub.clone(), self.kind, self.sender.clone());
        self.calls.retain(|call| !call.is_finished());
        self.calls.push_back(self.runtime.spawn(async move {
            let reply = match kind {
                PayloadKind::Image { .. } => stub.call_image(frame.image(kind)).await.map(|it| it.into_inner().into()),
                _ => stub.call_timing(frame.timing()).await.map(|it| it.into_inner().into()),
            };
            // A call that fails, for its server is gone, is one that nobody answered.
            if let Ok(reply) = reply {
                drop(replies.send(reply));
            }
        }));
        Ok(Sent::Accepted)
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Ok(reply) = self.replies.recv_timeout(timeout) else { return Ok(0) };
        take(reply.received());
        Ok(1)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        for call in self.calls.drain(..) {
            self.runtime.end(call);
        }
    }
}

/// A request, and where its answer goes.
pub type Asked = (Frame, oneshot::Sender<Frame>);

/// The answering end: tonic's task waits for the answer that a poll, or a callback, gives.
pub struct Answering {
    /// Before the server, which waits at its end for the calls under way: whose requests go are not answered.
    requests: UnboundedReceiver<Asked>,
    bound: Bound,
    runtime: Runtime,
}

impl Answering {
    pub fn new(runtime: Runtime, requests: UnboundedReceiver<Asked>, bound: Bound) -> Self {
        Self { requests, bound, runtime }
    }
}

fn respond((request, answer): Asked, handle: Handle<'_>) {
    handle(request.received(), &mut Replying(Some(answer)));
}

impl Server for Answering {
    fn address(&self) -> String {
        self.bound.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let next = self.runtime.wait_for(timeout, self.requests.recv());
        let Some(Some(asked)) = next else { return Ok(0) };
        respond(asked, handle);
        Ok(1)
    }

    /// A task of this link's own, so that its calls never overlap.
    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { mut requests, bound, runtime } = *self;
        let task = runtime.call(async move {
            while let Some(asked) = requests.recv().await {
                // The handler may block and wait for another server: the runtime goes on with another thread.
                tokio::task::block_in_place(|| respond(asked, &mut *on_request));
            }
        });
        Ok(Box::new(Served { _task: task, _bound: bound }))
    }
}

/// In the order in which it ends.
struct Served {
    _task: Task,
    _bound: Bound,
}

impl Subscription for Served {}

struct Replying(Option<oneshot::Sender<Frame>>);

impl Replier for Replying {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let answer = self.0.take().ok_or_else(|| Error::new("this request was answered already"))?;
        // A client that is gone gets nothing any more.
        drop(answer.send(Frame::written(payload_bytes, fill)));
        Ok(Sent::Accepted)
    }
}
