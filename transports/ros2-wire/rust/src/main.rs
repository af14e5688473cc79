//! The adapter for the ROS 2 wire protocol with ros2-client, over RustDDS. The adapter uses the messages of ../idl and
//! ROS 2's topic and service names, without rcl, rclcpp or an executor.

mod arrivals;
mod messages;
mod quality;
mod services;
mod session;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use messages::{Header, Image};
use services::{CallClient, CallServer};
use session::Session;
use topics::{TopicPublisher, TopicSubscriber};

struct Wire {
    session: Session,
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    Ok(Arc::new(Wire { session: Session::open(setup)? }))
}

/// Opens a link end with the message type of the link's payload.
macro_rules! open_end {
    ($self:ident, $end:ident, $link:ident) => {
        match $link.payload {
            PayloadKind::Timing => Ok(Box::new($end::<Header>::open(&$self.session, $link)?)),
            PayloadKind::Bytes | PayloadKind::Image { .. } => Ok(Box::new($end::<Image>::open(&$self.session, $link)?)),
        }
    };
}

impl Transport for Wire {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        open_end!(self, TopicPublisher, link)
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        open_end!(self, TopicSubscriber, link)
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        open_end!(self, CallServer, link)
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        open_end!(self, CallClient, link)
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
