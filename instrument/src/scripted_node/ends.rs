//! Provides the link ends of a scripted node, and the commands that each end can run.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::contract::{
    Client, Fill, FrameMut, Link, OnFrame, Publisher, Received, Replier, Sent, Server, Shared, Subscriber,
    Subscription, Transport,
};
use crate::error::{Error, Result};
use crate::frame::Header;
use crate::payload;
use crate::spec::Wait;
use crate::sync::lock;

use super::frames;
use super::words::{EndKind, FrameWords};

/// The longest sleep of one poll before the node checks its deadline again.
const NAP: Duration = Duration::from_millis(20);

/// One open link end.
pub enum End {
    Publisher(Box<dyn Publisher>),
    Subscriber(Box<dyn Subscriber>, Wait),
    Subscription { inbox: Arc<Inbox>, _open: Box<dyn Subscription> },
    Server(Box<dyn Server>, Wait),
    Served { inbox: Arc<Inbox>, address: String, _open: Box<dyn Subscription> },
    Client(Box<dyn Client>, Wait),
}

impl End {
    pub fn open(kind: EndKind, transport: &dyn Transport, link: &Link) -> Result<Self> {
        let wait = link.wait;
        Ok(match (kind, wait) {
            (EndKind::Publisher, _) => Self::Publisher(transport.publisher(link)?),
            (EndKind::Client, _) => Self::Client(transport.client(link)?, wait),
            (EndKind::Subscriber, Wait::Callback) => Self::subscribe(transport, link)?,
            (EndKind::Subscriber, _) => Self::Subscriber(transport.subscriber(link)?, wait),
            (EndKind::Server, Wait::Callback) => Self::serve_called(transport.server(link)?)?,
            (EndKind::Server, _) => Self::Server(transport.server(link)?, wait),
        })
    }

    fn subscribe(transport: &dyn Transport, link: &Link) -> Result<Self> {
        let inbox = Arc::new(Inbox::default());
        let filled = inbox.clone();
        let on_frame = OnFrame::new(move |received| filled.put(frames::describe_frame(&received)));
        let open = transport.subscribe(link, on_frame)?;
        Ok(Self::Subscription { inbox, _open: open })
    }

    fn serve_called(server: Box<dyn Server>) -> Result<Self> {
        let (inbox, address) = (Arc::new(Inbox::default()), server.address());
        let filled = inbox.clone();
        let open =
            server.serve(Box::new(move |received, replier| {
                let echoed = echo(&received, replier);
                filled.put(echoed.map_or_else(
                    |error| json!({ "refused": error.to_string() }),
                    |()| frames::describe_frame(&received),
                ));
            }))?;
        Ok(Self::Served { inbox, address, _open: open })
    }

    pub fn address(&self) -> String {
        match self {
            Self::Publisher(publisher) => publisher.address(),
            Self::Server(server, _) => server.address(),
            Self::Served { address, .. } => address.clone(),
            _ => String::new(),
        }
    }

    /// Sends frames. Returns how many frames the transport accepted, and how many times the transport was busy.
    pub fn send(&mut self, run: u64, words: &FrameWords) -> Result<Value> {
        let (mut accepted, mut busy) = (0u64, 0u64);
        for seq in words.seq..words.seq + words.count {
            let deadline = Instant::now() + Duration::from_millis(words.within_ms);
            let offered = loop {
                let offered = self.offer(run, seq, words)?;
                busy += u64::from(offered == Sent::Busy);
                if offered == Sent::Accepted || Instant::now() >= deadline {
                    break offered;
                }
                std::thread::sleep(Duration::from_micros(100));
            };
            if offered == Sent::Busy {
                break;
            }
            accepted += 1;
        }
        Ok(json!({ "accepted": accepted, "busy": busy }))
    }

    fn offer(&mut self, run: u64, seq: u64, words: &FrameWords) -> Result<Sent> {
        let mut write = |frame: FrameMut<'_>| frames::write(run, seq, frame);
        let fill = Fill::copied_message(&mut write);
        match self {
            Self::Publisher(publisher) if words.parts => {
                let (header, payload) = frames::test_frame(run, seq, words.payload_bytes);
                let payload: Shared = Arc::new(payload);
                publisher.send_parts(&header, &payload)
            }
            Self::Publisher(publisher) => publisher.send(words.payload_bytes, fill),
            Self::Client(client, _) => client.start(words.payload_bytes, fill),
            _ => Err(Error::new("this end does not send")),
        }
    }

    /// Waits for `count` frames. Returns the frames that arrived, which may be fewer than requested if the time runs
    /// out.
    pub fn receive(&mut self, count: u64, within_ms: u64) -> Result<Value> {
        if let Self::Subscription { inbox, .. } = self {
            return Ok(json!({ "frames": inbox.take(count, within_ms) }));
        }
        let mut seen = Vec::new();
        self.repeat_until_deadline(within_ms, |end, nap| {
            end.poll(nap, &mut |received| seen.push(frames::describe_frame(&received)))?;
            Ok((seen.len() as u64) < count)
        })?;
        Ok(json!({ "frames": seen }))
    }

    fn poll(&mut self, nap: Duration, take: &mut dyn FnMut(Received<'_>)) -> Result<usize> {
        match self {
            Self::Subscriber(subscriber, wait) => {
                subscriber.poll(if *wait == Wait::Spin { Duration::ZERO } else { nap }, take)
            }
            Self::Client(client, wait) => client.poll(if *wait == Wait::Spin { Duration::ZERO } else { nap }, take),
            _ => Err(Error::new("this end is not polled for frames")),
        }
    }

    fn repeat_until_deadline(
        &mut self,
        within_ms: u64,
        mut go_on: impl FnMut(&mut Self, Duration) -> Result<bool>,
    ) -> Result<()> {
        let deadline = Instant::now() + Duration::from_millis(within_ms);
        while go_on(self, NAP)? && Instant::now() < deadline {}
        Ok(())
    }

    /// Forwards frames with the adapter's own `forward` method.
    pub fn forward(&mut self, to: &mut Self, count: u64, within_ms: u64) -> Result<Value> {
        let Self::Publisher(publisher) = to else { return Err(Error::new("frames are forwarded to a publisher")) };
        let (mut forwarded, mut failure) = (0u64, None);
        self.repeat_until_deadline(within_ms, |end, nap| {
            end.poll(nap, &mut |received| match publisher.forward(&received) {
                Ok(Sent::Accepted) => forwarded += 1,
                Ok(Sent::Busy) => {}
                Err(error) => failure = Some(error),
            })?;
            Ok(forwarded < count && failure.is_none())
        })?;
        failure.map_or(Ok(json!({ "forwarded": forwarded })), Err)
    }

    /// Answers each request with the request's content. Returns the requests that arrived.
    pub fn serve(&mut self, count: u64, within_ms: u64) -> Result<Value> {
        if let Self::Served { inbox, .. } = self {
            return Ok(json!({ "frames": inbox.take(count, within_ms) }));
        }
        let (mut seen, mut failure) = (Vec::new(), None);
        self.repeat_until_deadline(within_ms, |end, nap| {
            let Self::Server(server, wait) = end else { return Err(Error::new("this end does not serve")) };
            let timeout = if *wait == Wait::Spin { Duration::ZERO } else { nap };
            server.poll(timeout, &mut |received, replier| {
                seen.push(frames::describe_frame(&received));
                if let Err(error) = echo(&received, replier) {
                    failure.get_or_insert(error);
                }
            })?;
            Ok((seen.len() as u64) < count && failure.is_none())
        })?;
        failure.map_or(Ok(json!({ "frames": seen })), Err)
    }

    /// Retains the first frame, receives a second frame, and checks that the first frame is unchanged.
    pub fn keep(&mut self, within_ms: u64) -> Result<Value> {
        let mut kept: Option<Box<dyn AsRef<[u8]> + Send>> = None;
        let mut came = 0;
        self.repeat_until_deadline(within_ms, |end, nap| {
            end.poll(nap, &mut |received| {
                came += 1;
                if came == 1 {
                    kept = received.keep.map(|keep| keep.keep());
                }
            })?;
            Ok(came < 2)
        })?;
        let kept = kept.ok_or_else(|| Error::new("the frame could not be kept"))?;
        let received = Received::split((*kept).as_ref());
        let whole = Header::read(received.header, received.payload.len())
            .is_ok_and(|header| header.checksum == payload::checksum(received.payload));
        Ok(json!({ "came": came, "whole": whole }))
    }
}

fn echo(received: &Received<'_>, replier: &mut dyn Replier) -> Result<()> {
    replier.forward(received).map(drop)
}

/// The frames that a callback has received so far.
#[derive(Default)]
pub struct Inbox {
    seen: Mutex<Vec<Value>>,
    grown: Condvar,
}

impl Inbox {
    fn put(&self, frame: Value) {
        lock(&self.seen).push(frame);
        self.grown.notify_all();
    }

    fn take(&self, count: u64, within_ms: u64) -> Vec<Value> {
        let seen = lock(&self.seen);
        let patience = Duration::from_millis(within_ms);
        let few = |seen: &mut Vec<Value>| (seen.len() as u64) < count;
        let waited = self.grown.wait_timeout_while(seen, patience, few);
        std::mem::take(&mut *waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Handle;
    use crate::frame::HEADER_BYTES;

    struct Answer(Result<Sent>);

    impl Replier for Answer {
        fn reply(&mut self, _: usize, _: Fill<'_>) -> Result<Sent> {
            std::mem::replace(&mut self.0, Ok(Sent::Busy))
        }
    }

    /// A server that passes two requests to the handler in one poll. The reply to the first request fails.
    struct TwoRequests;

    impl Server for TwoRequests {
        fn poll(&mut self, _: Duration, handle: Handle<'_>) -> Result<usize> {
            let request = [0; HEADER_BYTES + 1];
            for answer in [Err(Error::new("the client is gone")), Ok(Sent::Accepted)] {
                handle(Received::split(&request), &mut Answer(answer));
            }
            Ok(2)
        }
    }

    #[test]
    fn a_reply_that_fails_is_reported_even_if_a_later_one_succeeds() {
        let served = End::Server(Box::new(TwoRequests), Wait::Spin).serve(2, 1000);
        assert!(served.is_err_and(|error| error.to_string().contains("the client is gone")));
    }
}
