//! The wire protocol of ROS 2 by ros2-client, over RustDDS: messages of ../idl, topics and services as ROS 2 names
//! them. No rcl, no rclcpp, no executor.

mod arrivals;
mod house;
mod messages;
mod quality;
mod services;
mod topics;

use std::marker::PhantomData;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;

use house::House;
use messages::{Carrier, Header, Image};
use services::{Answering, Asking};
use topics::{Receiving, Sending};

/// The adapter for one message.
struct Wire<M> {
    house: House,
    setup: Setup,
    message: PhantomData<M>,
}

/// Picks the message by what the payload stands for.
fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    match setup.payload {
        PayloadKind::Timing => Wire::<Header>::open(setup),
        PayloadKind::Bytes | PayloadKind::Image { .. } => Wire::<Image>::open(setup),
    }
}

impl<M: Carrier> Wire<M> {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        Ok(Arc::new(Self { house: House::open(setup)?, setup: setup.clone(), message: PhantomData }))
    }
}

impl<M: Carrier> Transport for Wire<M> {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(Sending::<M>::open(&self.house, &self.setup, link)?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(Receiving::<M>::open(&self.house, self.setup.wait, link)?))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        Ok(Box::new(Answering::<M>::open(&self.house, &self.setup, link)?))
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        Ok(Box::new(Asking::<M>::open(&self.house, &self.setup, link)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.house.facts()
    }
}

fn library() -> String {
    format!("ros2-client {} over RustDDS {}", library_version!("ros2-client"), library_version!("rustdds"))
}

fn main() -> ExitCode {
    node::main("ros2-wire", "rust", open, library)
}
