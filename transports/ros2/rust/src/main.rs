//! The adapter for ROS 2 with r2r: topics and services. ../README.md describes the fields.

mod called;
mod messages;
mod polled;
mod rmw;
mod services;
mod session;
mod topics;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use r2r::sensor_msgs::msg::Image;
use r2r::std_msgs::msg::Header;

use services::{CallClient, CallServer};
use session::Session;
use topics::{TopicPublisher, TopicSubscriber, subscribe};

struct Ros2 {
    session: Session,
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    Ok(Arc::new(Ros2 { session: Session::open(setup)? }))
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

impl Transport for Ros2 {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        open_end!(self, TopicPublisher, link)
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        open_end!(self, TopicSubscriber, link)
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        match link.payload {
            PayloadKind::Timing => subscribe::<Header>(&self.session, link, on_frame),
            PayloadKind::Bytes | PayloadKind::Image { .. } => subscribe::<Image>(&self.session, link, on_frame),
        }
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
    let used: Vec<_> = [rmw::distribution(), rmw::version()].into_iter().filter(|text| !text.is_empty()).collect();
    format!("r2r {} ({})", library_version!("r2r"), used.join(", "))
}

fn main() -> ExitCode {
    node::main("ros2", "rust", open, library)
}
