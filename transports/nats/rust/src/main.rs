//! NATS by async-nats: subjects through a broker. `../README.md` says what is on the wire.

mod calls;
mod frames;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use async_nats::Client as Connection;
use hopmeter_instrument::spec::Wait;
use hopmeter_instrument::{
    Client, Context, Link, OnFrame, Publisher, Result, Server, Setup, Subscriber, Subscription, Transport, node,
    version,
};
use tokio::runtime::{Builder, Runtime};

use calls::{Answering, Asking};
use topics::{Called, Receiving, Sending};

/// One connection for all ends of the node, as NATS advises, and one thread that serves it.
struct Nats {
    runtime: Arc<Runtime>,
    connection: Connection,
    wait: Wait,
}

impl Nats {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("nats").enable_all().build();
        let runtime = Arc::new(runtime.context("starting the threads of async-nats")?);
        let connecting = async_nats::connect(&setup.daemon);
        let connection =
            runtime.block_on(connecting).context(format!("connecting to nats-server at {}", setup.daemon))?;
        Ok(Arc::new(Self { runtime, connection, wait: setup.wait }))
    }

    fn receiving(&self, subject: String) -> Result<Receiving> {
        Receiving::open(self.runtime.clone(), &self.connection, subject, self.wait)
    }
}

impl Transport for Nats {
    fn version(&self) -> String {
        library()
    }

    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(Sending::new(self.connection.clone(), link.name.as_str().into())))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(self.receiving(link.name.clone())?))
    }

    fn subscribe(&self, link: &Link, mut on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        let receiving = self.receiving(link.name.clone())?;
        Ok(Box::new(Called::by(receiving, move |message| on_frame.call(frames::received(&message.payload)))))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(Answering::new(self.connection.clone(), self.receiving(link.name.clone())?)))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        let inbox = self.connection.new_inbox();
        let replies = self.receiving(inbox.clone())?;
        Ok(Box::new(Asking::new(self.connection.clone(), link.name.as_str().into(), inbox.into(), replies)))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let server = self.connection.server_info();
        vec![("path".into(), format!("TCP through nats-server {}", server.version))]
    }
}

fn library() -> String {
    version::locked(include_str!("../../../../Cargo.lock"), "async-nats")
}

fn main() -> ExitCode {
    node::main("nats", "rust", Nats::open, library)
}
