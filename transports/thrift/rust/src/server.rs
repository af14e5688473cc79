//! The server, which runs Thrift's server loop for all connections on the caller's thread.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::wait_ready;
use hopmeter_streams::{Listener, accept_on};
use rustix::event::{PollFd, PollFlags};

use crate::channel::{Channel, Stack};
use crate::idl::{self, Image, Service, Timing};
use crate::message::{Message, Shape};

/// A server that waits until a connection is readable, then reads and handles the request and replies. The adapter does
/// not use Thrift's own server, because that server cannot be stopped.
pub struct CallServer {
    pub listener: Listener,
    pub stack: Stack,
    pub shape: Shape,
    pub clients: Vec<Channel>,
}

impl Server for CallServer {
    fn address(&self) -> String {
        self.listener.address.clone()
    }

    fn poll(&mut self, timeout: Duration, handle: Handle<'_>) -> Result<usize> {
        let ready = self.wait_ready_places(timeout)?;
        let handed_over = Cell::new(0);
        let answering = RequestHandler { handle: RefCell::new(handle), shape: self.shape, handed_over: &handed_over };
        for client in (0..self.clients.len()).rev().filter(|client| ready[client + 1]) {
            answer(&mut self.clients[client], &answering)?;
            if self.clients[client].has_ended() {
                self.clients.swap_remove(client);
            }
        }
        if ready[0] {
            let connection = accept_on(&self.listener.socket)?;
            self.clients.extend(connection.map(|connection| Channel::new(connection, &self.stack)));
        }
        Ok(handed_over.get())
    }
}

impl CallServer {
    /// Returns which sockets are readable: the listener first, then the clients in their order.
    fn wait_ready_places(&self, timeout: Duration) -> Result<Vec<bool>> {
        let sockets = self.clients.iter().map(|client| PollFd::new(&*client.socket, PollFlags::IN));
        let listener = PollFd::new(&self.listener.socket, PollFlags::IN);
        let mut places: Vec<PollFd<'_>> = std::iter::once(listener).chain(sockets).collect();
        wait_ready(&mut places, timeout)?;
        Ok(places.iter().map(|place| !place.revents().is_empty()).collect())
    }
}

/// Answers a client's requests. A client that has disconnected does not count as a failure.
fn answer(client: &mut Channel, service: &impl Service) -> Result<()> {
    loop {
        match idl::process(service, client.input.as_mut(), client.output.as_mut()) {
            Ok(()) if client.has_buffered() => {}
            Ok(()) => return Ok(()),
            Err(_) if client.has_ended() => return Ok(()),
            Err(cause) => return Err(Error::new("answering a call").because(cause)),
        }
    }
}

/// The service's handler, which calls the instrument's handler.
struct RequestHandler<'a> {
    handle: RefCell<Handle<'a>>,
    shape: Shape,
    handed_over: &'a Cell<usize>,
}

impl RequestHandler<'_> {
    fn answer<M: Message>(&self, request: &M) -> Option<M> {
        let mut reply = Reply { message: None::<M>, shape: self.shape };
        self.handed_over.set(self.handed_over.get() + 1);
        request.read(|received| (self.handle.borrow_mut())(received, &mut reply));
        reply.message
    }
}

impl Service for RequestHandler<'_> {
    fn answer_timing(&self, request: &Timing) -> Option<Timing> {
        self.answer(request)
    }

    fn answer_image(&self, request: &Image) -> Option<Image> {
        self.answer(request)
    }
}

struct Reply<M> {
    message: Option<M>,
    shape: Shape,
}

impl<M: Message> Replier for Reply<M> {
    fn reply(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut message = M::default();
        message.write(payload_bytes, fill, self.shape);
        self.message = Some(message);
        Ok(Sent::Accepted)
    }
}
