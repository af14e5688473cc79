//! A publisher sends each frame once to each receiver, or once to a multicast group.

use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use rustix::net::{RecvFlags, recvfrom};

use crate::datagrams::{Draft, Inbox, send_datagram};
use crate::places::{Address, Places};

/// How often a publisher checks for more receivers after the expected number has joined.
const LOOK: Duration = Duration::from_millis(10);
/// How often a receiver resends its token until a frame arrives.
const REPEAT: Duration = Duration::from_millis(50);

pub struct UdpPublisher {
    socket: OwnedFd,
    address: String,
    token: String,
    /// The multicast group, or the receivers that have joined.
    receivers: Vec<SocketAddrV4>,
    expected: usize,
    is_group: bool,
    looked: Instant,
    draft: Draft,
}

impl UdpPublisher {
    pub fn open(places: &Places, link: &Link) -> Result<Self> {
        let (socket, address, group) = places.publisher()?;
        Ok(Self {
            socket,
            token: Address::parse(&address)?.token,
            address,
            receivers: group.into_iter().collect(),
            expected: link.receivers as usize,
            is_group: group.is_some(),
            looked: Instant::now(),
            draft: Draft::new(link),
        })
    }

    fn lacks_receivers(&self) -> bool {
        !self.is_group && self.receivers.len() < self.expected
    }

    /// Checks for more receivers, but not more often than once per `LOOK`. The publisher calls this function after a
    /// send, so that the check delays no frame.
    fn look(&mut self) {
        if !self.is_group && self.looked.elapsed() > LOOK {
            self.admit();
        }
    }

    /// Adds the receivers that have sent the token.
    fn admit(&mut self) {
        let mut token = [0; 64];
        while let Ok((_, bytes, sender)) =
            recvfrom(&self.socket, &mut token[..], RecvFlags::DONTWAIT | RecvFlags::TRUNC)
        {
            let sender = sender.and_then(|sender| SocketAddrV4::try_from(sender).ok());
            if token.get(..bytes) == Some(self.token.as_bytes()) {
                self.receivers.extend(sender.filter(|sender| !self.receivers.contains(sender)));
            }
        }
        self.looked = Instant::now();
    }
}

/// Sends a frame to all receivers. Returns busy if the socket's buffer is full at the first receiver. If the buffer is
/// full at a later receiver, this receiver misses the frame.
fn send_to_all(socket: &OwnedFd, receivers: &[SocketAddrV4], frame: [&[u8]; 2]) -> Result<Sent> {
    for (index, receiver) in receivers.iter().enumerate() {
        if send_datagram(socket, frame, Some(receiver))? == Sent::Busy && index == 0 {
            return Ok(Sent::Busy);
        }
    }
    Ok(Sent::Accepted)
}

impl Publisher for UdpPublisher {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if self.lacks_receivers() {
            self.admit();
        }
        let frame = self.draft.write(payload_bytes, fill)?;
        let sent = send_to_all(&self.socket, &self.receivers, frame);
        self.look();
        sent
    }

    /// Sends the received bytes without a copy.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        if self.lacks_receivers() {
            self.admit();
        }
        let sent = send_to_all(&self.socket, &self.receivers, [received.header, received.payload]);
        self.look();
        sent
    }
}

pub struct UdpSubscriber {
    inbox: Inbox,
    /// The token, which is sent to the publisher until a frame arrives. Empty if the publisher sends to a multicast
    /// group.
    token: String,
    asked: Instant,
}

impl UdpSubscriber {
    pub fn open(places: &Arc<Places>, link: &Link) -> Result<Self> {
        let Address { place, token } = Address::parse(&link.address)?;
        let inbox = Inbox::new(places, places.connect_socket(place)?, link);
        let mut subscriber = Self { inbox, token, asked: Instant::now() };
        subscriber.join()?;
        Ok(subscriber)
    }

    fn join(&mut self) -> Result<()> {
        self.asked = Instant::now();
        if !self.token.is_empty() {
            send_datagram(&self.inbox.socket, [self.token.as_bytes(), &[]], None)?;
        }
        Ok(())
    }
}

impl Subscriber for UdpSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if !self.token.is_empty() && self.asked.elapsed() > REPEAT {
            self.join()?;
        }
        let Some((frame, _)) = self.inbox.receive(timeout)? else { return Ok(0) };
        take(Received::split(frame));
        self.token.clear(); // the publisher has added this receiver
        Ok(1)
    }
}
