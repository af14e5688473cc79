//! Lets link ends wait for sockets.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hopmeter_instrument::{Context, Result};
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// The minimum value of `SO_RCVTIMEO`, because a socket with a timeout of zero waits forever.
const SHORTEST: Duration = Duration::from_millis(1);

/// Sleeps until a descriptor is ready or the timeout passes. Returns whether a descriptor is ready.
pub fn wait_ready(places: &mut [PollFd<'_>], timeout: Duration) -> Result<bool> {
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    match poll(places, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(cause) => Err(cause).context("waiting for a socket"),
    }
}

/// The current `SO_RCVTIMEO` of a socket, which is set only if the value changes, because each change takes a system
/// call.
#[derive(Default)]
pub struct ReceiveTimeout(Duration);

impl ReceiveTimeout {
    #[inline]
    pub fn set(&mut self, socket: &OwnedFd, timeout: Duration) -> Result<()> {
        let timeout = timeout.max(SHORTEST);
        if timeout != self.0 {
            set_socket_timeout(socket, Timeout::Recv, Some(timeout)).context("setting SO_RCVTIMEO")?;
            self.0 = timeout;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use rustix::event::PollFlags;
    use rustix::net::sockopt::socket_timeout;

    use super::*;

    #[test]
    fn a_wait_ends_when_something_comes_or_the_time_is_up() {
        let (near, far) = UnixStream::pair().expect("a pair");
        let mut places = [PollFd::new(&near, PollFlags::IN)];
        let begun = Instant::now();
        assert!(!wait_ready(&mut places, Duration::from_millis(5)).expect("waited"));
        assert!(begun.elapsed() >= Duration::from_millis(5));
        std::io::Write::write_all(&mut &far, b"x").expect("sent");
        assert!(wait_ready(&mut places, Duration::from_secs(60)).expect("waited"));
    }

    #[test]
    fn a_timeout_of_zero_is_the_shortest_there_is() {
        let (near, _far) = UnixStream::pair().expect("a pair");
        let socket = OwnedFd::from(near);
        let mut timeout = ReceiveTimeout::default();
        for (asked, set) in [(Duration::ZERO, SHORTEST), (Duration::from_secs(2), Duration::from_secs(2))] {
            timeout.set(&socket, asked).expect("set");
            assert!(socket_timeout(&socket, Timeout::Recv).expect("known").expect("bounded") >= set);
        }
    }
}
