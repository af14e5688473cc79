//! The number of datagrams that the kernel dropped because a receive buffer was full.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use hopmeter_instrument::prelude::lock;

/// The number of values that Linux reports for a socket's memory. The last value is the number of dropped datagrams
/// (SK_MEMINFO_DROPS).
const VALUES: usize = 9;
const DROPS: usize = 8;

/// The dropped datagrams of all receiving sockets of a process.
#[derive(Default)]
pub struct Drops {
    open: Mutex<Vec<Weak<OwnedFd>>>,
    closed: AtomicU64,
}

impl Drops {
    pub fn watch(&self, socket: &Arc<OwnedFd>) {
        let mut open = lock(&self.open);
        open.retain(|socket| socket.strong_count() > 0);
        open.push(Arc::downgrade(socket));
    }

    /// Adds the datagrams that a socket has dropped; call this function when the socket is about to close.
    pub fn close(&self, socket: Arc<OwnedFd>) {
        self.closed.fetch_add(dropped_by(&socket), Ordering::Relaxed);
    }

    /// Returns a sentence with the number of dropped datagrams, or `None` if the number is 0.
    pub fn as_sentence(&self) -> Option<String> {
        let open: u64 = lock(&self.open).iter().filter_map(Weak::upgrade).map(|socket| dropped_by(&socket)).sum();
        match open + self.closed.load(Ordering::Relaxed) {
            0 => None,
            dropped => Some(format!("the kernel dropped {dropped} datagrams because a receive buffer was full")),
        }
    }
}

/// Returns the number of datagrams that a socket dropped, or 0 if the kernel does not report the number.
fn dropped_by(socket: &OwnedFd) -> u64 {
    let mut values = [0_u32; VALUES];
    let mut bytes = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes to `values`.
    let answer = unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
        libc::getsockopt(socket.as_raw_fd(), level, option, values.as_mut_ptr().cast(), &mut bytes)
    };
    if answer == 0 { values[DROPS].into() } else { 0 }
}
