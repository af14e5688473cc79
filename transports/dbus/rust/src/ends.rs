//! Link ends: senders of signals and requests, receivers of messages, and the server of calls.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use hopmeter_instrument::prelude::*;
use hopmeter_tokio::{Runtime, Task};
use zbus::message::{Builder, Type};
use zbus::{Connection, Message, MessageStream};

use crate::bodies::{self, Writer};
use crate::{INTERFACE, METHOD, SIGNAL};

/// Sends signals or, with a destination, requests.
pub struct MessageSender {
    pub runtime: Runtime,
    pub connection: Connection,
    pub path: String,
    /// The bus name of the server; `None` for signals.
    pub destination: Option<String>,
    pub writer: Writer,
}

/// Returns a builder of a signal or, if a server is given, of a request.
fn address<'a>(path: &'a str, server: Option<&'a str>) -> zbus::Result<Builder<'a>> {
    match server {
        None => Message::signal(path, INTERFACE, SIGNAL),
        Some(server) => Message::method_call(path, METHOD)?.destination(server)?.interface(INTERFACE),
    }
}

impl Publisher for MessageSender {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let envelope = address(&self.path, self.destination.as_deref()).context("addressing a D-Bus message")?;
        let message = self.writer.write(envelope, payload_bytes, fill)?;
        transmit(&self.runtime, &self.connection, &message)
    }
}

/// Sends a message, and waits until the socket has accepted it.
fn transmit(runtime: &Runtime, connection: &Connection, message: &Message) -> Result<Sent> {
    runtime.finish(connection.send(message)).context("sending to dbus-daemon")?;
    Ok(Sent::Accepted)
}

/// Receives the messages of one type.
pub struct MessageReceiver {
    runtime: Runtime,
    stream: Option<MessageStream>,
    kind: Type,
    spins: bool,
}

impl MessageReceiver {
    pub fn new(runtime: Runtime, stream: MessageStream, kind: Type, wait: Wait) -> Self {
        Self { runtime, stream: Some(stream), kind, spins: wait == Wait::Spin }
    }

    /// Returns the next message, or `None` after the timeout or if the message has another type.
    fn next(&mut self, timeout: Duration) -> Result<Option<Message>> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let next = stream.next();
        let next =
            if self.spins || timeout.is_zero() { next.now_or_never() } else { self.runtime.wait_for(timeout, next) };
        match next {
            None => Ok(None),
            Some(Some(message)) => {
                let message = message.context("receiving from dbus-daemon")?;
                Ok(Some(message).filter(|message| message.message_type() == self.kind))
            }
            Some(None) => Err(Error::new("dbus-daemon has closed the connection")),
        }
    }

    /// Starts a task that passes every message to `call` until the connection ends or `call` fails.
    pub fn call(mut self, mut call: impl FnMut(&Message) -> Result<()> + Send + 'static) -> Task {
        let (runtime, stream, kind) = (self.runtime.clone(), self.stream.take(), self.kind);
        runtime.call(async move {
            let Some(mut stream) = stream else { return };
            while let Some(Ok(message)) = stream.next().await {
                if message.message_type() == kind && call(&message).is_err() {
                    break;
                }
            }
        })
    }
}

impl Drop for MessageReceiver {
    /// Drops the stream within the runtime, because the stream starts a task that removes the match rule.
    fn drop(&mut self) {
        let _in_runtime = self.runtime.enter();
        self.stream = None;
    }
}

impl Subscriber for MessageReceiver {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.next(timeout)? else { return Ok(0) };
        bodies::read(&message, take)?;
        Ok(1)
    }
}

/// The server of an rpc link.
pub struct CallServer {
    requests: MessageReceiver,
    replier: CallReplier,
}

impl CallServer {
    pub fn new(runtime: Runtime, connection: Connection, requests: MessageReceiver, writer: Writer) -> Self {
        Self { requests, replier: CallReplier { runtime, connection, writer, request: None } }
    }
}

impl Server for CallServer {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(request) = self.requests.next(timeout)? else { return Ok(0) };
        self.replier.answer(request, handle)?;
        Ok(1)
    }

    fn serve(self: Box<Self>, mut on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { requests, mut replier } = *self;
        // The handler may wait for another server, so the runtime's other tasks continue on another thread.
        let call =
            move |request: &Message| tokio::task::block_in_place(|| replier.answer(request.clone(), &mut *on_request));
        Ok(Box::new(requests.call(call)))
    }
}

struct CallReplier {
    runtime: Runtime,
    connection: Connection,
    writer: Writer,
    /// The request that is being handled.
    request: Option<Message>,
}

impl CallReplier {
    fn answer(&mut self, request: Message, handle: Handle<'_>) -> Result<()> {
        self.request = Some(request.clone());
        bodies::read(&request, &mut |received| handle(received, self))
    }
}

impl Replier for CallReplier {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let request = self.request.take().ok_or_else(|| Error::new("this request has already been answered"))?;
        let envelope = Message::method_return(&request.header()).context("addressing a reply")?;
        let reply = self.writer.write(envelope, payload_bytes, fill)?;
        transmit(&self.runtime, &self.connection, &reply)
    }
}
