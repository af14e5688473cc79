//! The wire protocol of ROS 2 with ros2-client, over RustDDS: it uses the messages of ../idl, and names topics and
//! services as ROS 2 does. It uses no rcl, rclcpp or executor.

mod arrivals;
mod messages;
mod quality;
mod services;
mod session;
mod topics;

use std::marker::PhantomData;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use messages::{Carrier, Header, Image};
use services::{CallClient, CallServer};
use session::Session;
use topics::{TopicPublisher, TopicSubscriber};

/// The adapter for one message.
struct Wire<M> {
    session: Session,
    setup: Setup,
    message: PhantomData<M>,
}

/// Selects the message by the payload.
fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    match setup.payload {
        PayloadKind::Timing => Wire::<Header>::open(setup),
        PayloadKind::Bytes | PayloadKind::Image { .. } => Wire::<Image>::open(setup),
    }
}

impl<M: Carrier> Wire<M> {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { session: Session::open(setup)?, setup: setup.clone(), message: PhantomData }))
    }
}

impl<M: Carrier> Transport for Wire<M> {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher::<M>::open(&self.session, &self.setup, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(TopicSubscriber::<M>::open(&self.session, self.setup.wait, link)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(CallServer::<M>::open(&self.session, &self.setup, link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(CallClient::<M>::open(&self.session, &self.setup, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.session.facts()
    }
}

fn library() -> String {
    format!("ros2-client {} over RustDDS {}", library_version!("ros2-client"), library_version!("rustdds"))
}

fn main() -> ExitCode {
    node::main("ros2-wire", "rust", open, library)
}
