//! Implements the handshake that admits a consumer. The handshake uses a socket without a name in the file system, and
//! passes the shared memory as a file descriptor.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::prelude::*;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::net::{self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer};
use rustix::net::{SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{self, PidfdFlags};

use super::layout::{Geometry, MAX_CONSUMERS};
use super::producer::WhenFull;

/// The version of the handshake, of the segment layout, and of the atomic words in the segment.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"HOPM-SHM";
/// The maximum size of a handshake message, in bytes.
const LONGEST: usize = 512;
/// How long a consumer waits for the publisher's answer. The answer normally arrives fast, because the publisher's
/// thread has no other task.
const PATIENCE: Duration = Duration::from_secs(5);

/// A consumer's request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub link: String,
    pub may_sleep: bool,
}

/// The answer to a consumer that is admitted.
pub struct Ticket {
    pub connection: OwnedFd,
    pub memory: OwnedFd,
    pub geometry: Geometry,
    pub when_full: WhenFull,
    pub seat: usize,
}

/// The publisher's answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Welcome { geometry: Geometry, when_full: WhenFull, seat: u32 },
    Refused(String),
}

/// Requests the memory and a seat from the publisher of `link`.
pub fn request_seat(address: &str, link: &str, may_sleep: bool) -> Result<Ticket> {
    let doing = || format!("connecting to the shared memory of link {link} at `{address}`");
    exchange(address, &Request { link: link.to_owned(), may_sleep }).map_err(|error| error.within(doing()))
}

fn exchange(address: &str, request: &Request) -> Result<Ticket> {
    let connection = connect(address)?;
    check_user(connection.as_fd())?;
    // The pidfd lets the producer notice that this process has died, even if a fork of the process keeps the connection
    // open.
    let own = process::pidfd_open(process::getpid(), PidfdFlags::empty()).context("opening a pidfd of this process")?;
    send(connection.as_fd(), &request.encode(), Some(own.as_fd())).context("asking for the memory")?;
    wait_for_answer(&connection)?;
    let (bytes, memory) = receive(connection.as_fd()).context("receiving the memory")?;
    match (Reply::decode(&bytes)?, memory) {
        (Reply::Welcome { geometry, when_full, seat }, Some(memory)) if (seat as usize) < MAX_CONSUMERS => {
            Ok(Ticket { connection, memory, geometry, when_full, seat: seat as usize })
        }
        (Reply::Welcome { .. }, _) => Err(foreign_error("its answer lacks the memory or a seat")),
        (Reply::Refused(why), _) => Err(Error::new(format!("the publisher refused: {why}"))),
    }
}

fn connect(address: &str) -> Result<OwnedFd> {
    let name = address.strip_prefix('@').filter(|name| !name.is_empty()).ok_or_else(|| {
        Error::new("this is not an address of shared memory").remedy("pass on the address that the publisher gave")
    })?;
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes()).context("the publisher's address")?;
    let socket = socket(SocketFlags::CLOEXEC)?;
    net::connect(&socket, &name)
        .map_err(|cause| Error::new("nobody is there").because(cause).remedy("start the publisher first"))?;
    Ok(socket)
}

/// Binds a socket to a name that the kernel chooses, outside the file system. Returns the socket and its address.
pub fn listen() -> Result<(OwnedFd, String)> {
    let socket = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    net::bind(&socket, &SocketAddrUnix::new_unnamed()).context("binding the ring's socket")?;
    net::listen(&socket, MAX_CONSUMERS as i32).context("listening on the ring's socket")?;
    let name = net::getsockname(&socket).context("reading the ring's address")?;
    let name = SocketAddrUnix::try_from(name).context("reading the ring's address")?;
    let name = name.abstract_name().ok_or_else(|| Error::new("the kernel gave the ring's socket no name"))?;
    Ok((socket, format!("@{}", String::from_utf8_lossy(name))))
}

/// Creates a socket that preserves message boundaries and reports when the peer closes.
fn socket(flags: SocketFlags) -> Result<OwnedFd> {
    net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).context("making the ring's socket")
}

/// Refuses connections from other users, because other users may be able to see the socket's name.
pub fn check_user(connection: BorrowedFd<'_>) -> Result<()> {
    let peer = net::sockopt::socket_peercred(connection).context("reading who is at the other end")?;
    if peer.uid == process::geteuid() {
        return Ok(());
    }
    Err(Error::new(format!("the other end belongs to another user ({})", peer.uid.as_raw()))
        .remedy("run all nodes as one user"))
}

fn wait_for_answer(connection: &OwnedFd) -> Result<()> {
    let timeout = Timespec::try_from(PATIENCE).context("the handshake's timeout")?;
    let mut fds = [PollFd::new(connection, PollFlags::IN)];
    match event::poll(&mut fds, Some(&timeout)).context("waiting for the publisher's answer")? {
        0 => Err(foreign_error(&format!("it did not answer within {PATIENCE:?}"))),
        _ => Ok(()),
    }
}

/// Sends one message with at most one file descriptor.
pub fn send(to: BorrowedFd<'_>, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = file.into_iter().collect();
    if !files.is_empty() {
        extra.push(SendAncillaryMessage::ScmRights(&files));
    }
    net::sendmsg(to, &[IoSlice::new(bytes)], &mut extra, SendFlags::NOSIGNAL).map(drop)
}

/// Receives one message and the file descriptor that came with it. Closes any additional descriptors.
pub fn receive(from: BorrowedFd<'_>) -> rustix::io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; LONGEST];
    let got = net::recvmsg(from, &mut [IoSliceMut::new(&mut bytes)], &mut extra, RecvFlags::CMSG_CLOEXEC)?;
    bytes.truncate(got.bytes);
    let mut files = Vec::new();
    for message in extra.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            files.extend(some);
        }
    }
    Ok((bytes, files.into_iter().next()))
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        [&MAGIC[..], &VERSION.to_le_bytes(), &u32::from(self.may_sleep).to_le_bytes(), self.link.as_bytes()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut words = Words::after_greeting(bytes)?;
        let may_sleep = words.flag()?;
        let link = String::from_utf8(words.0.to_vec()).context("the link's name")?;
        Ok(Self { link, may_sleep })
    }
}

impl Reply {
    pub fn encode(&self) -> Vec<u8> {
        let greeting = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
        match self {
            Self::Refused(why) => {
                let why = &why.as_bytes()[..why.len().min(LONGEST - 16)];
                [&greeting[..], &0_u32.to_le_bytes(), why].concat()
            }
            Self::Welcome { geometry, when_full, seat } => {
                let drops = u32::from(*when_full == WhenFull::DropOldest);
                let mut bytes = [greeting, [1, drops, *seat, geometry.slots].map(u32::to_le_bytes).concat()].concat();
                for word in [geometry.payload_bytes, geometry.stride, geometry.control_bytes] {
                    bytes.extend_from_slice(&word.to_le_bytes());
                }
                bytes
            }
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut words = Words::after_greeting(bytes)?;
        if !words.flag()? {
            return Ok(Self::Refused(String::from_utf8_lossy(words.0).into_owned()));
        }
        let when_full = if words.flag()? { WhenFull::DropOldest } else { WhenFull::Busy };
        let (seat, slots) = (words.u32()?, words.u32()?);
        let (payload_bytes, stride, control_bytes) = (words.u64()?, words.u64()?, words.u64()?);
        Ok(Self::Welcome { geometry: Geometry { slots, payload_bytes, stride, control_bytes }, when_full, seat })
    }
}

/// The unread rest of a message.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn after_greeting(bytes: &'a [u8]) -> Result<Self> {
        let mut words = Self(bytes);
        if words.bytes::<8>()? != MAGIC {
            return Err(foreign_error("it does not speak the ring's language"));
        }
        match words.u32()? {
            VERSION => Ok(words),
            other => Err(foreign_error(&format!("it is of version {other}, this end of {VERSION}"))),
        }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk().ok_or_else(|| foreign_error("its message is cut short"))?;
        self.0 = rest;
        Ok(*first)
    }

    fn u32(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Result<bool> {
        self.u32().map(|word| word != 0)
    }
}

fn foreign_error(what: &str) -> Error {
    Error::new(format!("the other end is not one of hopmeter's: {what}"))
        .remedy("run `hopmeter build shm` so that all nodes have the same version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let request = Request { link: "run_l0".into(), may_sleep: true };
        assert_eq!(Request::decode(&request.encode()).unwrap(), request);
        let geometry = Geometry::new(8, 4096).unwrap();
        let welcome = Reply::Welcome { geometry, when_full: WhenFull::DropOldest, seat: 63 };
        assert_eq!(Reply::decode(&welcome.encode()).unwrap(), welcome);
        let refusal = Reply::Refused("all seats are taken".into());
        assert_eq!(Reply::decode(&refusal.encode()).unwrap(), refusal);
    }

    #[test]
    fn every_cut_or_changed_greeting_is_refused() {
        let geometry = Geometry::new(8, 4096).unwrap();
        let whole = Reply::Welcome { geometry, when_full: WhenFull::Busy, seat: 1 }.encode();
        assert!((0..whole.len()).all(|end| Reply::decode(&whole[..end]).is_err()));
        for at in 0..12 {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(Reply::decode(&changed).is_err(), "byte {at}");
        }
    }
}
