//! A UDP socket with timestamped datagrams. The kernel takes the timestamps if it supports timestamps; otherwise, the
//! program takes them.
//!
//! Kernel timestamps are on CLOCK_REALTIME. To convert a timestamp to CLOCK_MONOTONIC, the socket reads CLOCK_REALTIME
//! and CLOCK_MONOTONIC at the same time.

use std::io;
use std::mem::{MaybeUninit, size_of, size_of_val};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use super::Clock;
use super::packet::BYTES;
use super::rates::read_together;
use crate::clock;
use crate::error::{Context, Result};

/// The size of the receive buffer: one byte more than a datagram of the exchange, so that longer datagrams are
/// detected.
const ROOM: usize = BYTES + 1;
/// The maximum age of a kernel timestamp. An older timestamp is ignored, because CLOCK_REALTIME may have been set
/// before the conversion.
const LONGEST_NS: i64 = 1_000_000_000;
static WANTED: libc::c_uint = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// A time on the clock of the asker or the responder that owns the socket, and the maximum error of the conversion to
/// this clock.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    pub ns: i64,
    pub error_ns: u32,
    pub is_kernel: bool,
}

pub struct Datagram {
    pub bytes: [u8; ROOM],
    pub length: usize,
    pub stamp: Stamp,
}

impl Datagram {
    pub fn content(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

pub struct StampedSocket {
    pub socket: UdpSocket,
    clock: Clock,
    /// The number that the kernel will assign to the next sent datagram.
    next: u32,
}

impl StampedSocket {
    pub fn bind(address: SocketAddr, clock: Clock) -> Result<Self> {
        let socket = UdpSocket::bind(address).context(format!("binding the clock exchange to {address}"))?;
        socket.set_nonblocking(true).context("making the socket of the clock exchange non-blocking")?;
        request_stamps(&socket);
        Ok(Self { socket, clock, next: 0 })
    }

    /// Returns the current time on the clock of the socket's owner.
    pub fn now_ns(&self) -> i64 {
        (self.clock)(clock::now_ns())
    }

    /// Counts a sent datagram, and returns its number for [`Self::sent_stamp`].
    pub fn count_sent(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next.wrapping_sub(1)
    }

    /// Returns the kernel timestamp of a sent datagram, or `None` if the kernel has reported no timestamp. The
    /// timestamps of all other datagrams are discarded.
    pub fn sent_stamp(&self, number: u32) -> Option<Stamp> {
        let mut found = None;
        while let Ok(message) = Message::receive(&self.socket, libc::MSG_ERRQUEUE) {
            let stamp = message.kernel_ns.and_then(|real_ns| self.convert(real_ns));
            found = if message.sent_number == Some(number) { stamp } else { found };
        }
        found
    }

    /// Receives a datagram and its sender's address. Fails with `WouldBlock` if no datagram has arrived.
    pub fn receive(&self) -> io::Result<(Datagram, Option<SocketAddr>)> {
        let message = Message::receive(&self.socket, 0)?;
        let now_ns = self.now_ns();
        let stamp = message.kernel_ns.and_then(|real_ns| self.convert(real_ns));
        let stamp = stamp.unwrap_or(Stamp { ns: now_ns, error_ns: 0, is_kernel: false });
        let length = message.length.min(ROOM);
        Ok((Datagram { bytes: message.bytes, length, stamp }, message.sender))
    }

    /// Converts a kernel timestamp. Returns `None` if the timestamp is implausible because CLOCK_REALTIME was set after
    /// the kernel took the timestamp.
    fn convert(&self, real_ns: i64) -> Option<Stamp> {
        let (monotonic_ns, now_real_ns, bracket_ns) = read_together(libc::CLOCK_REALTIME);
        let age_ns = now_real_ns - real_ns;
        let error_ns = u32::try_from(bracket_ns / 2 + 1).ok()?;
        let ns = (self.clock)(monotonic_ns - age_ns);
        (0..LONGEST_NS).contains(&age_ns).then_some(Stamp { ns, error_ns, is_kernel: true })
    }
}

/// Requests kernel timestamps. The function ignores a failed request, because datagrams arrive even without timestamps.
fn request_stamps(socket: &UdpSocket) {
    let size = size_of_val(&WANTED) as libc::socklen_t;
    // SAFETY: the option takes an unsigned integer, and the pointer refers to one.
    unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, (&raw const WANTED).cast(), size)
    };
}

/// A datagram, or the kernel's report about a sent datagram.
struct Message {
    bytes: [u8; ROOM],
    length: usize,
    sender: Option<SocketAddr>,
    /// The kernel timestamp, on CLOCK_REALTIME.
    kernel_ns: Option<i64>,
    /// For a kernel report: the number of the sent datagram that the report describes.
    sent_number: Option<u32>,
}

/// Memory for control messages, with the alignment that control messages require.
#[repr(C, align(8))]
struct Control([u8; 512]);

impl Message {
    fn receive(socket: &UdpSocket, flags: i32) -> io::Result<Self> {
        let mut bytes = [0; ROOM];
        let mut control = Control([0; 512]);
        // SAFETY: zeros are valid for an address storage and a header. The code sets the header's pointers before it
        // uses the header.
        let (mut address, mut header): (libc::sockaddr_storage, libc::msghdr) =
            unsafe { (MaybeUninit::zeroed().assume_init(), MaybeUninit::zeroed().assume_init()) };
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: ROOM };
        header.msg_name = (&raw mut address).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control.0.len() as _;
        // SAFETY: every pointer in the header refers to a local variable with the stated length.
        let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        let mut message = Self { bytes, length, sender: sender(&address), kernel_ns: None, sent_number: None };
        message.read_control(&header);
        Ok(message)
    }

    fn read_control(&mut self, header: &libc::msghdr) {
        // SAFETY: the kernel filled in the header, and its control messages are in the caller's memory. The macros
        // return only messages within that memory. Each message is read as the type that its level and kind indicate.
        unsafe {
            let mut at = libc::CMSG_FIRSTHDR(header);
            while let Some(control) = at.as_ref() {
                match (control.cmsg_level, control.cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                        let time = libc::CMSG_DATA(at).cast::<libc::timespec>().read_unaligned();
                        let ns = time.tv_sec * 1_000_000_000 + time.tv_nsec;
                        self.kernel_ns = (ns != 0).then_some(ns);
                    }
                    (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                        let report = libc::CMSG_DATA(at).cast::<libc::sock_extended_err>().read_unaligned();
                        let is_stamp = report.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING;
                        self.sent_number = is_stamp.then_some(report.ee_data);
                    }
                    _ => (),
                }
                at = libc::CMSG_NXTHDR(header, at);
            }
        }
    }
}

fn sender(address: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let at = (&raw const *address).cast::<u8>();
    match i32::from(address.ss_family) {
        // SAFETY: the family says that the storage contains this type, and the storage has room for every address type.
        libc::AF_INET => {
            let four = unsafe { at.cast::<libc::sockaddr_in>().read() };
            let host = std::net::Ipv4Addr::from(u32::from_be(four.sin_addr.s_addr));
            Some(SocketAddr::from((host, u16::from_be(four.sin_port))))
        }
        // SAFETY: the family says that the storage contains an IPv6 address.
        libc::AF_INET6 => {
            let six = unsafe { at.cast::<libc::sockaddr_in6>().read() };
            let (host, port) = (six.sin6_addr.s6_addr.into(), u16::from_be(six.sin6_port));
            Some(std::net::SocketAddrV6::new(host, port, six.sin6_flowinfo, six.sin6_scope_id).into())
        }
        _ => None,
    }
}
