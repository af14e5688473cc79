//! Implements the instrument's rpc traits for an adapter's clients and servers.

use std::time::Duration;

use hopmeter_instrument::contract::{self, Fill, Handle, OnRequest, Received, Subscription, Take};
use hopmeter_instrument::{Error, Result, Sent};

use crate::end_handle::end_handle;
use crate::loan::{give_on_request, lend_fill, lend_handle, lend_take};
use crate::pubsub::{CSubscription, nanoseconds};
use crate::{calls, frames, text};

end_handle!(CClient, calls::Client, calls::ClientCalls);
end_handle!(CServer, calls::Server, calls::ServerCalls);
end_handle!(CDeferred, calls::Replier, calls::ReplierCalls);

impl contract::Client for CClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let (object, start) = (self.object(), self.calls().start);
        lend_fill(fill, |fill| text::send_outcome(|error| start(object, payload_bytes, fill, error)))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match self.calls().forward {
            Some(forward) => text::send_outcome(|error| forward(self.object(), &frames::lend(received), error)),
            None => contract::copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill)),
        }
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let (object, poll) = (self.object(), self.calls().poll);
        lend_take(take, |take| text::count(|error| poll(object, nanoseconds(timeout), take, error)))
    }
}

impl contract::Server for CServer {
    fn address(&self) -> String {
        self.calls().address.map_or_else(String::new, |address| text::read_text(|out| address(self.object(), out)))
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let (object, poll) = (self.object(), self.calls().poll);
        lend_handle(handle, |handle| text::count(|error| poll(object, nanoseconds(timeout), handle, error)))
    }

    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Some(serve) = self.calls().serve else {
            return Err(Error::new("this transport's servers do not support callbacks")
                .remedy("use wait = \"block\" or \"spin\""));
        };
        let mut raw = calls::Subscription { object: std::ptr::null_mut(), calls: std::ptr::null() };
        text::check_status(|error| serve(self.object(), give_on_request(on_request), &mut raw, error))?;
        Ok(Box::new(Serving { _subscription: CSubscription::adopt(raw)?, _server: self }))
    }
}

/// A server whose request handler runs on the transport's threads. Rust drops fields in declaration order, so the
/// subscription is dropped before the server.
struct Serving {
    _subscription: Box<CSubscription>,
    _server: Box<CServer>,
}

impl Subscription for Serving {}

/// A replier that a handler may use until the handler returns.
pub struct CReplier(calls::Replier);

impl CReplier {
    pub fn borrow(raw: calls::Replier) -> Self {
        Self(raw)
    }
}

impl contract::Replier for CReplier {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        reply(self.0, payload_bytes, fill)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        // SAFETY: the ABI guarantees that tables are valid as long as the process runs.
        match unsafe { &*self.0.calls }.forward {
            Some(forward) => text::send_outcome(|error| forward(self.0.object, &frames::lend(received), error)),
            None => contract::copy_on(received, |payload_bytes, fill| self.reply(payload_bytes, fill)),
        }
    }

    fn defer(&mut self) -> Option<Box<dyn contract::Replier + Send>> {
        // SAFETY: the ABI guarantees that tables are valid as long as the process runs.
        let deferred = unsafe { &*self.0.calls }.defer?(self.0.object);
        CDeferred::adopt(deferred).ok().map(|deferred| deferred as _)
    }
}

impl contract::Replier for CDeferred {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        reply(self.0, payload_bytes, fill)
    }
}

fn reply(raw: calls::Replier, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
    // SAFETY: the ABI guarantees that tables are valid as long as the process runs.
    let reply = unsafe { &*raw.calls }.reply;
    lend_fill(fill, |fill| text::send_outcome(|error| reply(raw.object, payload_bytes, fill, error)))
}
