//! The adapter for iceoryx2: samples are loaned from shared memory and passed by reference, without a broker.

mod domain;
mod ends;
mod services;

use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use iceoryx2::prelude::{LogLevel, set_log_level};
use iceoryx2_bb_elementary::package_version::PackageVersion;

use domain::Domain;
use ends::{LoanPublisher, LoanSubscriber};
use services::{Limits, Services};

struct Iceoryx2 {
    domain: Arc<Domain>,
    limits: Limits,
}

impl Iceoryx2 {
    fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
        // Functions return failures as errors, so the library's log would only repeat these errors.
        set_log_level(LogLevel::Fatal);
        Ok(Arc::new(Self { domain: Arc::new(Domain::enter(setup)?), limits: Limits::read(setup)? }))
    }

    fn services(&self, link: &Link) -> Result<Services> {
        self.domain
            .with_node(|node| Services::open(node, link, &self.limits))
            .map_err(|failed| failed.within(&link.name))
    }
}

impl Transport for Iceoryx2 {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(LoanPublisher::open(self.services(link)?, link.frame_bytes, self.domain.clone())?))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        Ok(Box::new(LoanSubscriber::open(self.services(link)?, self.domain.clone())?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".to_owned(), "shared memory of iceoryx2".to_owned())]
    }
}

fn main() -> ExitCode {
    node::main("iceoryx2", "rust", Iceoryx2::open, || PackageVersion::get().to_string())
}
