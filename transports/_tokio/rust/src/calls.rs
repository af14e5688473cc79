//! Implements calls for libraries whose tasks send and answer requests.

use std::future::Future;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use hopmeter_instrument::prelude::*;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::frames::as_received;
use crate::{Runtime, Task};

/// A frame as the library's messages carry it.
pub trait Carried: Send + 'static {
    fn write(payload_bytes: usize, fill: Fill<'_>) -> Self;

    /// Passes the frame to `take`.
    fn pass(&self, take: Take<'_>);
}

/// The bytes of a frame: the header, then the payload.
impl Carried for Bytes {
    fn write(payload_bytes: usize, fill: Fill<'_>) -> Self {
        fill.to_vec(payload_bytes).into()
    }

    fn pass(&self, take: Take<'_>) {
        take(as_received(self));
    }
}

/// The calls of a client: a task makes each call and stores the reply until the next poll.
pub struct Calls<F> {
    runtime: Runtime,
    sender: Sender<F>,
    replies: Receiver<F>,
    running: Vec<JoinHandle<()>>,
}

impl<F: Carried> Calls<F> {
    pub fn new(runtime: Runtime) -> Self {
        let (sender, replies) = channel();
        Self { runtime, sender, replies, running: Vec::new() }
    }

    /// Starts a task that makes a call. The call returns its reply, or `None` if the server has disconnected or has not
    /// answered.
    pub fn start(&mut self, call: impl Future<Output = Option<F>> + Send + 'static) {
        let replies = self.sender.clone();
        self.running.retain(|call| !call.is_finished());
        self.running.push(self.runtime.spawn(async move {
            if let Some(reply) = call.await {
                drop(replies.send(reply));
            }
        }));
    }

    pub fn poll(&self, timeout: Duration, take: Take<'_>) -> usize {
        let Ok(reply) = self.replies.recv_timeout(timeout) else { return 0 };
        reply.pass(take);
        1
    }
}

impl<F> Drop for Calls<F> {
    fn drop(&mut self) {
        for call in self.running.drain(..) {
            self.runtime.end(call);
        }
    }
}

/// A request and the channel for its reply.
pub type PendingCall<F> = (F, oneshot::Sender<F>);

/// Passes a request to the server that owns the other half of `requests`, and waits for the reply. Returns the reply,
/// or `None` if the request is not answered.
pub async fn ask<F: Carried>(requests: &UnboundedSender<PendingCall<F>>, request: F) -> Option<F> {
    let (answer, answered) = oneshot::channel();
    requests.send((request, answer)).ok()?;
    answered.await.ok()
}

/// A server whose task waits until a poll or a callback has produced the reply. `Bound` is the library's server.
pub struct QueuedServer<F, Bound> {
    /// This field must be dropped before the library's server, because dropping that server waits for running calls.
    /// Dropping the field makes the requests of the running calls count as unanswered.
    pub requests: UnboundedReceiver<PendingCall<F>>,
    pub bound: Bound,
    pub address: String,
    pub runtime: Runtime,
}

fn respond<F: Carried>((request, answer): PendingCall<F>, handle: Handle<'_>) {
    let mut replier = CallReplier(Some(answer));
    request.pass(&mut |received| handle(received, &mut replier));
}

impl<F: Carried, Bound: Send + 'static> Server for QueuedServer<F, Bound> {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(Some(asked)) = self.runtime.wait_for(timeout, self.requests.recv()) else { return Ok(0) };
        respond(asked, handle);
        Ok(1)
    }

    /// Serves this link in a separate task, so that the link's calls never overlap.
    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { mut requests, bound, runtime, .. } = *self;
        let task = runtime.call(async move {
            while let Some(asked) = requests.recv().await {
                // The handler may block and wait for another server; meanwhile the runtime continues on another thread.
                tokio::task::block_in_place(|| respond(asked, &mut *on_request));
            }
        });
        Ok(Box::new(Serving { _task: task, _bound: bound }))
    }
}

/// The task is dropped before the library's server, because Rust drops a struct's fields in declaration order.
struct Serving<Bound> {
    _task: Task,
    _bound: Bound,
}

impl<Bound: Send> Subscription for Serving<Bound> {}

struct CallReplier<F>(Option<oneshot::Sender<F>>);

impl<F: Carried> Replier for CallReplier<F> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let answer = self.0.take().ok_or_else(|| Error::new("this request has already been answered"))?;
        // A disconnected client receives no reply.
        drop(answer.send(F::write(payload_bytes, fill)));
        Ok(Sent::Accepted)
    }
}
