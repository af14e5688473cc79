//! Services as rmw_cyclonedds puts them on the wire: a topic for the requests and one for the replies, which all
//! clients of a service get.
//!
//! Not by the clients and servers of ros2-client: they put the request's identity into the inline parameters of each
//! sample too, and RustDDS 0.15 writes an octet too many before such parameters when it sends a sample in fragments.

use std::time::Duration;

use hopmeter_instrument::prelude::*;
use ros2_client::{Gid, Publisher};
use serde::{Deserialize, Serialize};

use crate::house::{House, Place};
use crate::messages::{Carried, Carrier, Outgoing};
use crate::topics::{Inbox, sent};

/// A message within a request or a reply: which client asked, and the number of its request.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "M: Carrier")]
struct Enveloped<M> {
    client: u64,
    number: i64,
    it: Carried<M>,
}

/// The topics of the requests and of the replies.
fn places<M: Carrier>(house: &House, link: &Link) -> [Place; 2] {
    [("rq", "Request", "Request"), ("rr", "Reply", "Response")].map(|(prefix, suffix, kind)| Place {
        topic: format!("{prefix}/hopmeter_{}{suffix}", link.name),
        type_name: format!("hopmeter_ros2::srv::dds_::{}_{kind}_", M::SERVICE),
        qos: house.quality.services.clone(),
    })
}

/// All 16 octets of an identity in 8, as many as the header has.
fn folded(gid: Gid) -> u64 {
    let octets = u128::from_ne_bytes(gid.to_bytes16());
    (octets ^ octets >> 64) as u64
}

/// The asking end.
pub struct Asking<M: Carrier> {
    requests: Publisher<Enveloped<M>>,
    replies: Inbox<Enveloped<M>>,
    outgoing: Outgoing<M>,
    own: u64,
    number: i64,
}

impl<M: Carrier> Asking<M> {
    pub fn open(house: &House, setup: &Setup, link: &Link) -> Result<Self> {
        let [requests, replies] = places::<M>(house, link);
        let requests = house.publisher(&requests)?;
        let (own, outgoing) = (folded(requests.gid()), Outgoing::new(setup.payload));
        Ok(Self { requests, replies: Inbox::open(house, &replies, setup.wait)?, outgoing, own, number: 0 })
    }

    fn ask(&mut self, it: Carried<M>) -> Result<Sent> {
        self.number += 1;
        sent(self.requests.publish(Enveloped { client: self.own, number: self.number, it }))
    }
}

impl<M: Carrier> Client for Asking<M> {
    fn start(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let request = self.outgoing.filled(payload_bytes, fill)?;
        self.ask(request)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match Carried::of(received) {
            Some(request) => self.ask(request),
            None => copy_on(received, |payload_bytes, fill| self.start(payload_bytes, fill)),
        }
    }

    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let reply = self.replies.next(timeout, |reply| reply.client == self.own)?;
        Ok(reply.map(|reply| reply.it.hand(take)).iter().len())
    }
}

/// The answering end.
pub struct Answering<M: Carrier> {
    requests: Inbox<Enveloped<M>>,
    replying: Replying<M>,
}

impl<M: Carrier> Answering<M> {
    pub fn open(house: &House, setup: &Setup, link: &Link) -> Result<Self> {
        if setup.wait == Wait::Callback {
            return Err(Error::unsupported("server that is called", &link.name));
        }
        let [requests, replies] = places::<M>(house, link);
        let (replies, outgoing) = (house.publisher(&replies)?, Outgoing::new(setup.payload));
        let replying = Replying { replies, client: 0, number: 0, outgoing };
        Ok(Self { requests: Inbox::open(house, &requests, setup.wait)?, replying })
    }
}

impl<M: Carrier> Server for Answering<M> {
    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let Some(request) = self.requests.next(timeout, |_| true)? else { return Ok(0) };
        (self.replying.client, self.replying.number) = (request.client, request.number);
        request.it.hand(|received| handle(received, &mut self.replying));
        Ok(1)
    }
}

/// Answers the request that is being handled.
struct Replying<M: Carrier> {
    replies: Publisher<Enveloped<M>>,
    client: u64,
    number: i64,
    outgoing: Outgoing<M>,
}

impl<M: Carrier> Replier for Replying<M> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let it = self.outgoing.filled(payload_bytes, fill)?;
        sent(self.replies.publish(Enveloped { client: self.client, number: self.number, it }))
    }
}
