//! Services as in rmw_cyclonedds: one topic for requests, and one topic for replies that all clients receive.
//!
//! ros2-client's own clients and servers put the request's identity into each sample's inline QoS, so this module does
//! not use them. RustDDS 0.15 writes an extra octet before the inline QoS of a fragmented sample.

use std::time::Duration;

use hopmeter_instrument::prelude::*;
use ros2_client::{Gid, Publisher};
use serde::{Deserialize, Serialize};

use crate::messages::{Carrier, FrameMessage, MessageBuffer};
use crate::session::{Place, Session};
use crate::topics::{Inbox, write_outcome};

/// A message inside a request or a reply, with the client's identity and the request's number.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "M: Carrier")]
struct CallMessage<M> {
    client: u64,
    number: i64,
    it: FrameMessage<M>,
}

/// Returns the topics of the requests and of the replies.
fn places<M: Carrier>(session: &Session, link: &Link) -> [Place; 2] {
    [("rq", "Request", "Request"), ("rr", "Reply", "Response")].map(|(prefix, suffix, kind)| Place {
        topic: format!("{prefix}/hopmeter_{}{suffix}", link.name),
        type_name: format!("hopmeter_ros2::srv::dds_::{}_{kind}_", M::SERVICE),
        qos: session.quality.services.clone(),
    })
}

/// Folds the 16 octets of an identity into the 8 octets of the header's field.
fn fold_identity(gid: Gid) -> u64 {
    let octets = u128::from_ne_bytes(gid.to_bytes16());
    (octets ^ octets >> 64) as u64
}

/// The client of an rpc link.
pub struct CallClient<M: Carrier> {
    requests: Publisher<CallMessage<M>>,
    replies: Inbox<CallMessage<M>>,
    outgoing: MessageBuffer<M>,
    own: u64,
    number: i64,
}

impl<M: Carrier> CallClient<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        let [requests, replies] = places::<M>(session, link);
        let requests = session.publisher(&requests)?;
        let (own, outgoing) = (fold_identity(requests.gid()), MessageBuffer::new(link.payload));
        Ok(Self { requests, replies: Inbox::open(session, &replies, link.wait)?, outgoing, own, number: 0 })
    }

    fn send_request(&mut self, it: FrameMessage<M>) -> Result<Sent> {
        self.number += 1;
        write_outcome(self.requests.publish(CallMessage { client: self.own, number: self.number, it }))
    }
}

impl<M: Carrier> Client for CallClient<M> {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let request = self.outgoing.fill(payload_bytes, fill)?;
        self.send_request(request)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match FrameMessage::of(received) {
            Some(request) => self.send_request(request),
            None => copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill)),
        }
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let reply = self.replies.next(timeout, |reply| reply.client == self.own)?;
        Ok(reply.map(|reply| reply.it.with_frame(take)).iter().len())
    }
}

/// The server of an rpc link.
pub struct CallServer<M: Carrier> {
    requests: Inbox<CallMessage<M>>,
    replying: CallReplier<M>,
}

impl<M: Carrier> CallServer<M> {
    pub fn open(session: &Session, link: &Link) -> Result<Self> {
        if link.wait == Wait::Callback {
            return Err(Error::unsupported("server that is called", &link.name));
        }
        let [requests, replies] = places::<M>(session, link);
        let (replies, outgoing) = (session.publisher(&replies)?, MessageBuffer::new(link.payload));
        let replying = CallReplier { replies, client: 0, number: 0, outgoing };
        Ok(Self { requests: Inbox::open(session, &requests, link.wait)?, replying })
    }
}

impl<M: Carrier> Server for CallServer<M> {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(request) = self.requests.next(timeout, |_| true)? else { return Ok(0) };
        (self.replying.client, self.replying.number) = (request.client, request.number);
        request.it.with_frame(|received| handle(received, &mut self.replying));
        Ok(1)
    }
}

/// Replies to the current request.
struct CallReplier<M: Carrier> {
    replies: Publisher<CallMessage<M>>,
    client: u64,
    number: i64,
    outgoing: MessageBuffer<M>,
}

impl<M: Carrier> Replier for CallReplier<M> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let it = self.outgoing.fill(payload_bytes, fill)?;
        write_outcome(self.replies.publish(CallMessage { client: self.client, number: self.number, it }))
    }
}
