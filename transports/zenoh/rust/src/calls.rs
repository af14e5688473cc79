//! Request and reply with zenoh's queries.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use zenoh::bytes::ZBytes;
use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::query::{ConsolidationMode, Querier, Query, Queryable, Reply};
use zenoh::{Session, Wait};

use crate::frames::{Arrivals, Memory};
use crate::sessions::Listening;
use crate::topics::{drain, until_dropped};
use crate::{Zenoh, key};

/// The error text with which zenoh ends an unanswered query.
const TIMED_OUT: &[u8] = b"Timeout";

/// The client, which receives the replies to all its calls in one channel.
pub struct CallClient {
    querier: Querier<'static>,
    replies: Receiver<Reply>,
    sender: Sender<Reply>,
    memory: Memory,
    arrivals: Arc<Arrivals>,
    _session: Session,
}

impl CallClient {
    pub fn open(zenoh: &Zenoh, link: &Link) -> Result<Self> {
        let session = zenoh.sessions.connected_session(&link.address)?;
        // Without consolidation, zenoh passes a reply on when the reply arrives, not when the query ends.
        let querier = session
            .declare_querier(key(link))
            .congestion_control(zenoh.quality.congestion)
            .express(zenoh.quality.express)
            .consolidation(ConsolidationMode::None)
            .wait()
            .context("declaring a zenoh querier")?;
        let (sender, replies) = channel();
        let (memory, arrivals) = (zenoh.memory(link)?, zenoh.arrivals.clone());
        Ok(Self { querier, replies, sender, memory, arrivals, _session: session })
    }

    fn send_query(&self, request: ZBytes) -> Result<()> {
        let replies = self.sender.clone();
        // The receiving side of the channel lives as long as the querier, so sending does not fail.
        let keep = move |reply| drop(replies.send(reply));
        self.querier.get().payload(request).callback(keep).wait().context("asking with zenoh")
    }

    /// Passes a reply on, and returns the number of frames that were passed on. A query or reply that zenoh dropped
    /// counts as a lost call.
    fn hand_over(&self, reply: Reply, take: Take<'_>) -> Result<usize> {
        match reply.into_result() {
            Ok(sample) => {
                self.arrivals.count_and_lend(sample.payload(), take);
                Ok(1)
            }
            Err(ended) => no_reply(&ended.payload().to_bytes()),
        }
    }
}

fn no_reply(why: &[u8]) -> Result<usize> {
    if why == TIMED_OUT {
        return Ok(0);
    }
    let why = String::from_utf8_lossy(why);
    Err(Error::new(format!("zenoh ended a query without a reply: {why}")))
}

impl Client for CallClient {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.memory.send(payload_bytes, fill, |request| self.send_query(request))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.memory.forward(received, |request| self.send_query(request))
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let mut next = self.replies.recv_timeout(timeout).ok();
        let mut frames = 0;
        while let Some(reply) = next {
            frames += self.hand_over(reply, take)?;
            next = self.replies.try_recv().ok();
        }
        Ok(frames)
    }
}

/// The server of an rpc link.
pub struct CallServer {
    /// The channel of requests, or `None` if the server uses a callback.
    queryable: Option<Queryable<FifoChannelHandler<Query>>>,
    key: String,
    memory: Memory,
    arrivals: Arc<Arrivals>,
    listening: Listening,
}

impl CallServer {
    pub fn open(zenoh: &Zenoh, link: &Link) -> Result<Self> {
        let (listening, key) = (zenoh.sessions.listening_session()?, key(link));
        let channel = FifoChannel::new(zenoh.quality.channel);
        let is_polled = link.wait != hopmeter_instrument::spec::Wait::Callback;
        let declare = || listening.session.declare_queryable(&key).with(channel).wait();
        let queryable = is_polled.then(declare).transpose();
        let queryable = queryable.context("declaring a zenoh queryable")?;
        Ok(Self { queryable, key, memory: zenoh.memory(link)?, arrivals: zenoh.arrivals.clone(), listening })
    }
}

impl Server for CallServer {
    fn address(&self) -> String {
        self.listening.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(queryable) = &self.queryable else {
            return Err(Error::new("this zenoh server uses callbacks and cannot be polled")
                .remedy("use wait = \"block\" to poll it"));
        };
        drain(queryable, timeout, |query| answer(&query, &self.memory, &self.arrivals, &mut *handle))
    }

    fn serve(self: Box<Self>, on_request: OnRequest) -> Result<Box<dyn Subscription>> {
        let Self { key, memory, arrivals, listening, .. } = *self;
        let on_request = Mutex::new(on_request);
        let call = move |query: Query| {
            let mut on_request = lock(&on_request);
            answer(&query, &memory, &arrivals, &mut **on_request);
        };
        let queryable = listening.session.declare_queryable(key).callback(call).wait();
        let queryable = queryable.context("declaring a zenoh queryable")?;
        Ok(until_dropped(listening.session, move || queryable.undeclare().wait_callbacks().wait()))
    }
}

/// A foreign query without a payload looks like an empty frame, which the instrument refuses and counts.
fn answer(query: &Query, memory: &Memory, arrivals: &Arrivals, handle: Handle<'_>) {
    let none = ZBytes::new();
    let request = query.payload().unwrap_or(&none);
    arrivals.count_and_lend(request, |received| handle(received, &mut CallReplier { query, memory }));
}

struct CallReplier<'a> {
    query: &'a Query,
    memory: &'a Memory,
}

impl CallReplier<'_> {
    fn answer(&self, reply: ZBytes) -> Result<()> {
        self.query.reply(self.query.key_expr(), reply).wait().context("replying with zenoh")
    }
}

impl Replier for CallReplier<'_> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        self.memory.send(payload_bytes, fill, |reply| self.answer(reply))
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        self.memory.forward(received, |reply| self.answer(reply))
    }
}

#[cfg(test)]
mod tests {
    use super::no_reply;

    #[test]
    fn a_query_that_timed_out_is_a_lost_call_and_any_other_end_an_error() {
        assert_eq!(no_reply(b"Timeout").ok(), Some(0));
        let refused = no_reply(b"no such key").expect_err("must be an error");
        assert!(refused.to_string().contains("no such key"));
    }
}
