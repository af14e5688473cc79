//! Receiving from a socket, polled or called, by nng's asynchronous operations.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use nng::{Aio, AioResult, Message, Socket};

/// What nng's thread leaves for the one that polls.
#[derive(Default)]
struct PendingReceive {
    come: Mutex<Option<nng::Result<Message>>>,
    finished: Condvar,
}

impl PendingReceive {
    fn lock(&self) -> MutexGuard<'_, Option<nng::Result<Message>>> {
        self.come.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, received: nng::Result<Message>) {
        *self.lock() = Some(received);
        self.finished.notify_one();
    }

    fn take(&self, timeout: Duration) -> Option<nng::Result<Message>> {
        let waited = self.finished.wait_timeout_while(self.lock(), timeout, |come| come.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// Receives one message at a time and never waits longer than it is told.
///
/// A receive with a time limit would do for most sockets, but nng wakes a thread of its own for each limit, and REQ
/// gives up the whole call when one passes. So a receive without a limit stays pending from poll to poll.
pub struct Inbox {
    socket: Socket,
    outcome: Arc<PendingReceive>,
    operation: Aio,
    pending: bool,
    spins: bool,
}

impl Inbox {
    pub fn new(socket: Socket, wait: Wait) -> Result<Self> {
        let outcome = Arc::new(PendingReceive::default());
        let place = outcome.clone();
        let finish = move |_operation, result| {
            if let AioResult::Recv(received) = result {
                place.put(received);
            }
        };
        let operation = Aio::new(finish).context("preparing to receive")?;
        Ok(Self { socket, outcome, operation, pending: false, spins: wait == Wait::Spin })
    }

    /// The next message; none when none has come within `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<Message>> {
        if !self.pending {
            // What is there already is handed over at once here; as an operation it would come from another thread.
            match self.socket.try_recv() {
                Err(nng::Error::TryAgain) if self.spins => return Ok(None),
                Err(nng::Error::TryAgain) => self.socket.recv_async(&self.operation).context("receiving with nng")?,
                received => return received.map(Some).context("receiving with nng"),
            }
            self.pending = true;
        }
        let Some(received) = self.outcome.take(timeout) else { return Ok(None) };
        self.pending = false;
        received.map(Some).context("receiving with nng")
    }

    /// Ends a receive that is pending; its message, if it has come after all, is dropped.
    pub fn abandon(&mut self) {
        if self.pending {
            self.operation.cancel();
            self.operation.wait();
            self.outcome.lock().take();
            self.pending = false;
        }
    }

    pub fn spins(&self) -> bool {
        self.spins
    }
}

/// An operation must not be dropped by its own callback, so it is waited for here.
impl Drop for Inbox {
    fn drop(&mut self) {
        self.socket.close();
        self.operation.wait();
    }
}

/// A receiving end that nng's threads call: each callback asks for the next message when it is done with its own.
pub struct CallbackSubscription {
    socket: Socket,
    operation: Aio,
}

impl CallbackSubscription {
    pub fn open(socket: Socket, on_frame: OnFrame) -> Result<Self> {
        let (again, on_frame) = (socket.clone(), Mutex::new(on_frame));
        let finish = move |operation: Aio, result| {
            let AioResult::Recv(Ok(message)) = result else { return };
            let mut on_frame = on_frame.lock().unwrap_or_else(PoisonError::into_inner);
            on_frame.call(Received::split(&message));
            // Refused only while another receive is pending, and this was the only one.
            let _ = again.recv_async(&operation);
        };
        let operation = Aio::new(finish).context("preparing to receive")?;
        socket.recv_async(&operation).map_err(|cause| Error::new("receiving with nng").because(cause))?;
        Ok(Self { socket, operation })
    }
}

impl Subscription for CallbackSubscription {}

/// A socket that is closed brings no more; then the last callback is waited for.
impl Drop for CallbackSubscription {
    fn drop(&mut self) {
        self.socket.close();
        self.operation.wait();
    }
}
