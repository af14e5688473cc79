//! The two sides of an rpc link, native or duplex, and the relay that calls the next server before it replies.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use crate::contract::{Client, Link, Publisher, Received, Replier, Server, Subscription};
use crate::control::Tally;
use crate::duplex::{DuplexClient, DuplexServer, on_request_frame};
use crate::error::{Error, Result};
use crate::frame::Header;
use crate::listen_limit::{ListenLimit, Patience};
use crate::spec::{Rpc, Wait};

use super::ends::{LONGEST_BLOCK, Loan, listen, new_deadline, pump};
use super::server::{Answerer, Onward};
use super::{OpenEnds, RoleContext};

/// The client side of an rpc link that is not connected yet: only the link ends that the client itself binds are open.
pub struct ClientEnd {
    id: String,
    requests: Option<Box<dyn Publisher>>,
}

impl ClientEnd {
    /// Binds the link ends that the client must bind: none for a native link, or the request link for a duplex link.
    pub fn bind(context: &RoleContext<'_>, id: &str, bound: &mut BTreeMap<String, String>) -> Result<Self> {
        let requests = match context.flow.rpc {
            Rpc::Native => None,
            Rpc::Duplex => Some(bind_publisher(context, format!("{id}.request"), bound)?),
        };
        Ok(Self { id: id.to_owned(), requests })
    }

    /// Opens the remaining link ends. Call `connect` only after all links have been bound.
    pub fn connect(self, context: &RoleContext<'_>) -> Result<Box<dyn Client>> {
        match self.requests {
            None => context.transport.client(&context.link_to_connect(&self.id)?),
            Some(requests) => {
                let replies = context.transport.subscriber(&context.link_to_connect(&format!("{}.reply", self.id))?)?;
                Ok(Box::new(DuplexClient { requests, replies }))
            }
        }
    }
}

/// The server side of an rpc link after binding and before connecting.
pub enum ServerEnd {
    Native(Box<dyn Server>),
    Duplex { id: String, replies: Box<dyn Publisher> },
}

impl ServerEnd {
    /// Binds the link ends that the server side binds.
    pub fn bind(context: &RoleContext<'_>, id: &str, bound: &mut BTreeMap<String, String>) -> Result<Self> {
        match context.flow.rpc {
            Rpc::Native => {
                let server = context.transport.server(&context.link_to_bind(id)?)?;
                bound.insert(id.to_owned(), server.address());
                Ok(Self::Native(server))
            }
            Rpc::Duplex => {
                let replies = bind_publisher(context, format!("{id}.reply"), bound)?;
                Ok(Self::Duplex { id: id.to_owned(), replies })
            }
        }
    }

    fn connect(self, context: &RoleContext<'_>) -> Result<Box<dyn Server>> {
        match self {
            Self::Native(server) => Ok(server),
            Self::Duplex { id, replies } => {
                let requests = context.transport.subscriber(&request_link(context, &id)?)?;
                Ok(Box::new(DuplexServer { requests, replies }))
            }
        }
    }

    fn serve(self, context: &RoleContext<'_>, mut loan: Loan<Answerer>) -> Result<Box<dyn Subscription>> {
        let permits = loan.get().permits();
        let on_request = Box::new(move |received: Received<'_>, replier: &mut dyn Replier| {
            let _permit = permits.wait_for_one();
            loan.get().answer(received, replier);
        });
        match self {
            Self::Native(server) => server.serve(on_request),
            Self::Duplex { id, replies } => {
                context.transport.subscribe(&request_link(context, &id)?, on_request_frame(on_request, replies))
            }
        }
    }

    /// Opens the server's remaining link ends, which are polled or use callbacks, depending on the endpoint's `wait`.
    pub fn open(self, context: &RoleContext<'_>, answerer: Answerer) -> Result<OpenServer> {
        if context.wait() == Wait::Callback {
            let (loan, returned) = Loan::new(answerer);
            return Ok(OpenServer::Called { subscription: self.serve(context, loan)?, returned });
        }
        Ok(OpenServer::Polled { server: self.connect(context)?, answerer: Box::new(answerer) })
    }

    /// Answers requests until the time is up. The server reports its endpoint as ready as soon as the server listens.
    pub fn run(self, context: &RoleContext<'_>, answerer: Answerer) -> Result<(Tally, OpenEnds)> {
        let limit = answerer.limit();
        let server = self.open(context, answerer)?;
        context.report_ready();
        listen(context, &limit, || server.run(context.wait(), &limit))?.settle()
    }
}

/// A server whose link ends are all open.
pub enum OpenServer {
    Polled { server: Box<dyn Server>, answerer: Box<Answerer> },
    Called { subscription: Box<dyn Subscription>, returned: mpsc::Receiver<Answerer> },
}

impl OpenServer {
    /// Answers requests until the time is up.
    pub fn run(self, wait: Wait, limit: &ListenLimit) -> Result<StoppedServer> {
        match self {
            Self::Polled { mut server, mut answerer } => {
                let permits = answerer.permits();
                pump(wait, limit, |timeout| {
                    server.poll(timeout, &mut |received, replier| {
                        let _permit = permits.wait_for_one();
                        answerer.answer(received, replier);
                    })
                })?;
                Ok(StoppedServer { answerer: *answerer, server: Some(server) })
            }
            Self::Called { subscription, returned } => {
                limit.sleep();
                drop(subscription);
                let home = returned.recv_timeout(Duration::from_secs(10));
                let answerer =
                    home.map_err(|_| Error::new("the transport kept a server's callback after the server was closed"))?;
                Ok(StoppedServer { answerer, server: None })
            }
        }
    }
}

/// A server that no longer answers requests, but whose polled link end is still open.
pub struct StoppedServer {
    answerer: Answerer,
    server: Option<Box<dyn Server>>,
}

impl StoppedServer {
    /// Writes the recorded samples.
    pub fn settle(self) -> Result<(Tally, OpenEnds)> {
        self.answerer.settle(self.server.map(|server| Box::new(server) as _))
    }
}

fn request_link(context: &RoleContext<'_>, id: &str) -> Result<Link> {
    context.link_to_connect(&format!("{id}.request"))
}

fn bind_publisher(
    context: &RoleContext<'_>,
    id: String,
    bound: &mut BTreeMap<String, String>,
) -> Result<Box<dyn Publisher>> {
    let publisher = context.transport.publisher(&context.link_to_bind(&id)?)?;
    bound.insert(id, publisher.address());
    Ok(publisher)
}

/// Runs the role of an rpc relay: a server that is also a client of the next server.
pub fn run_relay(context: &RoleContext<'_>) -> Result<(Tally, OpenEnds)> {
    let (Some(from), Some(to)) = (context.me.inputs.first(), context.me.outputs.first()) else {
        return Err(Error::new("a relay needs a link to serve and a link to call"));
    };
    let mut bound = BTreeMap::new();
    let server = ServerEnd::bind(context, from, &mut bound)?;
    let client = ClientEnd::bind(context, to, &mut bound)?;
    context.report_bound(bound);
    let onward = Onward { client: client.connect(context)?, wait: context.wait(), patience: context.spec.patience() };
    server.run(context, Answerer::new(context, new_deadline(context.spec.drain_ns), Some(onward))?)
}

/// Polls a client until the reply to `seq` has been passed to `take`. Returns false if the time runs out before the
/// reply arrives.
pub fn await_reply(
    client: &mut dyn Client,
    wait: Wait,
    mut patience: Patience,
    seq: u64,
    mut take: impl FnMut(&Received<'_>),
) -> Result<bool> {
    let mut come = false;
    while let Some(left) = patience.time_left(LONGEST_BLOCK) {
        let timeout = if wait == Wait::Spin { Duration::ZERO } else { left };
        client.poll(timeout, &mut |received| {
            take(&received);
            let header = Header::read(received.header, received.payload.len());
            come |= header.is_ok_and(|header| header.seq == seq);
        })?;
        if come {
            return Ok(true);
        }
        patience.count_empty_look();
    }
    Ok(false)
}
