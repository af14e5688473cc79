//! Sending and receiving one datagram.

use std::io::IoSlice;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::ReceiveTimeout;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrAny, recvfrom, sendmsg, sendmsg_addr};

use crate::places::Places;

/// The largest content of a UDP datagram over IPv4.
const LARGEST: usize = 65_507;

/// The memory in which frames are written before they are sent.
pub struct Draft(Vec<u8>);

impl Draft {
    pub fn new(link: &Link) -> Self {
        Self(vec![0; link.frame_bytes.min(LARGEST)])
    }

    /// Lets `fill` write a frame. Returns the frame as the parts of one datagram.
    pub fn write(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<[&[u8]; 2]> {
        let (bytes, limit) = (HEADER_BYTES + payload_bytes, self.0.len());
        let frame = self.0.get_mut(..bytes).ok_or_else(|| {
            Error::new(format!("a frame of {bytes} bytes, but the limit is {limit}"))
                .remedy(format!("a datagram has at most {LARGEST} bytes: send smaller messages, or use tcp"))
        })?;
        fill.write(FrameMut::split(frame));
        Ok([frame, &[]])
    }
}

/// Sends the concatenated parts as one datagram without waiting, to the address `place` or to the peer of a connected
/// socket.
///
/// If the peer cannot be reached, the datagram is lost, which is not an error. After a datagram to an unreachable peer,
/// Linux reports an error instead of sending the next datagram, so this function sends the next datagram again.
pub fn send_datagram(socket: &OwnedFd, parts: [&[u8]; 2], place: Option<&SocketAddrV4>) -> Result<Sent> {
    let (parts, mut control) = (parts.map(IoSlice::new), SendAncillaryBuffer::default());
    loop {
        let answer = match place {
            Some(place) => sendmsg_addr(socket, place, &parts, &mut control, SendFlags::DONTWAIT),
            None => sendmsg(socket, &parts, &mut control, SendFlags::DONTWAIT),
        };
        match answer {
            Ok(_) => return Ok(Sent::Accepted),
            Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(Sent::Busy),
            Err(Errno::CONNREFUSED | Errno::INTR) => {}
            Err(cause) => return Err(Error::new("sending a datagram").because(cause)),
        }
    }
}

/// The receiving half of a socket.
pub struct Inbox {
    pub socket: Arc<OwnedFd>,
    places: Arc<Places>,
    blocks: bool,
    timeout: ReceiveTimeout,
    buffer: Vec<u8>,
}

impl Inbox {
    pub fn new(places: &Arc<Places>, socket: Arc<OwnedFd>, link: &Link) -> Self {
        let (blocks, buffer) = (link.wait == Wait::Block, vec![0; link.frame_bytes.min(LARGEST)]);
        Self { socket, places: places.clone(), blocks, timeout: ReceiveTimeout::default(), buffer }
    }

    /// Receives one datagram, and returns the datagram and its sender. Drops a datagram that is larger than the link's
    /// largest frame.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<(&[u8], Option<SocketAddrAny>)>> {
        let waits = self.blocks && !timeout.is_zero();
        if waits {
            self.timeout.set(&self.socket, timeout)?;
        }
        let flags = if waits { RecvFlags::TRUNC } else { RecvFlags::TRUNC | RecvFlags::DONTWAIT };
        match recvfrom(&self.socket, &mut self.buffer[..], flags) {
            Ok((_, bytes, sender)) => Ok(self.buffer.get(..bytes).map(|frame| (frame, sender))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => Ok(None),
            Err(cause) => Err(Error::new("receiving a datagram").because(cause)),
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.places.drops.close(self.socket.clone());
    }
}
