//! The services of a link: publish-subscribe for its frames, and an event that wakes blocking receivers.

use hopmeter_instrument::prelude::*;
use iceoryx2::node::Node;
use iceoryx2::prelude::{ServiceName, ipc};
use iceoryx2::service::port_factory::{event, publish_subscribe};
use serde::Deserialize;

pub type FrameService = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;
pub type WakeService = event::PortFactory<ipc::Service>;

/// The settings of `transport.toml`.
pub struct Limits {
    buffer: usize,
    borrowed: usize,
    full: Full,
}

/// What the publisher does if a receiver's buffer is full.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Full {
    DropOldest,
    Busy,
}

impl Limits {
    pub fn read(setup: &Setup) -> Result<Self> {
        Ok(Self {
            buffer: setup.setting("buffer")?,
            borrowed: setup.setting("borrowed")?,
            full: setup.setting("full")?,
        })
    }
}

pub struct Services {
    pub frames: FrameService,
    pub wake: Option<WakeService>,
}

impl Services {
    /// Opens or creates the services of a link. All link ends request the same limits, which are at least as large as
    /// the library's defaults.
    pub fn open(node: &Node<ipc::Service>, link: &Link, limits: &Limits) -> Result<Self> {
        let name = ServiceName::new(&link.name).context("naming a service")?;
        let receivers = link.receivers as usize;
        let frames = node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .max_subscribers(receivers.max(8))
            .max_nodes((receivers + 1).max(20))
            .subscriber_max_buffer_size(limits.buffer)
            .subscriber_max_borrowed_samples(limits.borrowed)
            .enable_safe_overflow(limits.full == Full::DropOldest)
            .open_or_create()
            .map_err(|cause| service_error("the publish-subscribe service", cause))?;
        let wake = (link.wait == Wait::Block).then(|| wake_service(node, &name, receivers)).transpose()?;
        Ok(Self { frames, wake })
    }
}

fn wake_service(node: &Node<ipc::Service>, name: &ServiceName, receivers: usize) -> Result<WakeService> {
    node.service_builder(name)
        .event()
        .max_listeners(receivers.max(16))
        .max_nodes((receivers + 1).max(36))
        .open_or_create()
        .map_err(|cause| service_error("the event service", cause))
}

fn service_error(service: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(format!("opening {service}"))
        .remedy("both ends need the same settings and the same version of iceoryx2, and room in /dev/shm")
        .because(cause)
}
