//! Receives messages by polling or callbacks, through nng's asynchronous operations.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use nng::{Aio, AioResult, Message, Socket};

/// The result of a receive, which nng's thread stores for the polling thread.
#[derive(Default)]
struct PendingReceive {
    come: Mutex<Option<nng::Result<Message>>>,
    finished: Condvar,
}

impl PendingReceive {
    fn put(&self, received: nng::Result<Message>) {
        *lock(&self.come) = Some(received);
        self.finished.notify_one();
    }

    fn take(&self, timeout: Duration) -> Option<nng::Result<Message>> {
        let waited = self.finished.wait_timeout_while(lock(&self.come), timeout, |come| come.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// Receives one message at a time and never waits longer than requested.
///
/// A receive without a timeout stays pending from one poll to the next. The adapter sets no timeout, because nng wakes
/// a separate thread for each timeout, and a REQ socket ends the whole call after a timeout.
pub struct Inbox {
    socket: Socket,
    outcome: Arc<PendingReceive>,
    operation: Aio,
    pending: bool,
    pub spins: bool,
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

    /// Returns the next message, or `None` after `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<Message>> {
        if !self.pending {
            // Takes a message that is already waiting, because the asynchronous operation would deliver this message on
            // another thread.
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

    /// Cancels a pending receive, and drops a message that arrived despite the cancellation.
    pub fn abandon(&mut self) {
        if self.pending {
            self.operation.cancel();
            self.operation.wait();
            lock(&self.outcome.come).take();
            self.pending = false;
        }
    }
}

impl Subscriber for Inbox {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Some(message) = self.receive(timeout)? else { return Ok(0) };
        take(Received::split(&message));
        Ok(1)
    }
}

/// nng forbids that an operation is dropped in its own callback, so `drop` waits for the callback.
impl Drop for Inbox {
    fn drop(&mut self) {
        self.socket.close();
        self.operation.wait();
    }
}

/// A receiver with a callback on nng's threads. Each callback requests the next message before it returns.
pub struct CallbackSubscription {
    socket: Socket,
    operation: Aio,
}

impl CallbackSubscription {
    pub fn open(socket: Socket, on_frame: OnFrame) -> Result<Self> {
        let (again, on_frame) = (socket.clone(), Mutex::new(on_frame));
        let finish = move |operation: Aio, result| {
            let AioResult::Recv(Ok(message)) = result else { return };
            let mut on_frame = lock(&on_frame);
            on_frame.call(Received::split(&message));
            // nng refuses a receive only if another receive is pending, and no other receive was pending here.
            let _ = again.recv_async(&operation);
        };
        let operation = Aio::new(finish).context("preparing to receive")?;
        socket.recv_async(&operation).map_err(|cause| Error::new("receiving with nng").because(cause))?;
        Ok(Self { socket, operation })
    }
}

impl Subscription for CallbackSubscription {}

/// The closed socket delivers no more messages, so this destructor only waits for the last callback.
impl Drop for CallbackSubscription {
    fn drop(&mut self) {
        self.socket.close();
        self.operation.wait();
    }
}
