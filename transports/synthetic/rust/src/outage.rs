//! The outages of a planned broker. Messages do not pass through this broker; a receiver loses all samples while the
//! broker is down, and until the planned recovery has passed.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

use hopmeter_instrument::clock::now_ns;
use hopmeter_instrument::prelude::*;

/// A receiver's connection to the broker.
pub struct BrokerConnection {
    address: SocketAddr,
    /// The open connection, or `None` while the broker is down.
    stream: Option<TcpStream>,
    recovery_ns: i64,
    /// When the planned recovery ends. Samples that departed before this time are lost.
    recovered_ns: i64,
}

impl BrokerConnection {
    /// Connects to the broker at `address`, which consists of an IP address and a port.
    ///
    /// # Errors
    /// Fails if there is no broker at the address.
    pub fn open(address: &str, recovery_ms: u64) -> Result<Self> {
        let address = address.parse().context("parsing the broker's address")?;
        let stream = Some(connect(address).context("connecting to the planned broker")?);
        Ok(Self { address, stream, recovery_ns: recovery_ms as i64 * 1_000_000, recovered_ns: 0 })
    }

    /// Returns whether a sample that departed at `departed_ns` gets through.
    pub fn carries(&mut self, departed_ns: i64) -> bool {
        if self.stream.as_mut().is_some_and(has_ended) {
            self.stream = None;
        }
        if self.stream.is_none() {
            self.stream = connect(self.address).ok();
            self.recovered_ns = now_ns() + self.recovery_ns;
        }
        self.stream.is_some() && departed_ns >= self.recovered_ns
    }
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn has_ended(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(bytes) => bytes == 0,
        Err(cause) => cause.kind() != ErrorKind::WouldBlock,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    #[test]
    fn samples_are_lost_while_the_broker_is_down_and_until_the_planned_recovery() {
        let broker = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = broker.local_addr().unwrap();
        let mut connection = BrokerConnection::open(&address.to_string(), 20).unwrap();
        let (accepted, _) = broker.accept().unwrap();
        assert!(connection.carries(now_ns()));
        drop((accepted, broker));
        assert!(!connection.carries(now_ns()));
        let _broker = TcpListener::bind(address).unwrap();
        assert!(!connection.carries(now_ns()), "the recovery has only begun");
        std::thread::sleep(Duration::from_millis(20));
        assert!(connection.carries(now_ns()));
    }

    #[test]
    fn a_broker_that_does_not_run_is_an_error() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(BrokerConnection::open(&address.to_string(), 0).is_err());
    }
}
