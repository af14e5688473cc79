//! Implements the instrument's transport trait for an adapter's transport.

use std::ffi::c_void;

use hopmeter_instrument::contract::{
    Client, Link, OnFrame, Publisher, Server, Setup, Subscriber, Subscription, Transport,
};
use hopmeter_instrument::spec::{MessageType, PayloadKind, Wait};
use hopmeter_instrument::{Error, Result};

use crate::abi::{self, Text};
use crate::loan::give_on_frame;
use crate::pubsub::{CPublisher, CSubscriber, CSubscription};
use crate::rpc::{CClient, CServer};
use crate::{calls, text};

/// An adapter's transport with its setup, which the adapter may read as long as the transport exists.
pub struct CTransport {
    raw: calls::Transport,
    _setup: Box<OwnedSetup>,
}

// SAFETY: the ABI says that the threads of all endpoints may call a transport.
unsafe impl Send for CTransport {}
unsafe impl Sync for CTransport {}

/// The type of the adapter's functions that open a transport.
type Open = extern "C" fn(*const abi::Setup, *mut calls::Transport, *const abi::Error) -> i32;

/// A setup with a stable address.
struct OwnedSetup {
    setup: abi::Setup,
    _settings: Box<abi::Settings>,
    _addresses: [String; 2],
}

impl OwnedSetup {
    fn new(setup: &Setup) -> Result<Box<Self>> {
        let settings = Box::new(abi::Settings(setup.clone()));
        let kept = &settings.0;
        let directory = kept
            .directory
            .to_str()
            .ok_or_else(|| Error::new("the trial's folder has a name that is not valid UTF-8"))?;
        let addresses = [kept.bind.to_string(), kept.advertised.to_string()];
        let setup = abi::Setup {
            run: Text::lend(&kept.run),
            directory: Text::lend(directory),
            broker: Text::lend(&kept.broker),
            bind: Text::lend(&addresses[0]),
            advertised: Text::lend(&addresses[1]),
            largest_frame_bytes: kept.largest_frame_bytes,
            settings: &raw const *settings,
        };
        Ok(Box::new(Self { setup, _settings: settings, _addresses: addresses }))
    }
}

fn wait(wait: Wait) -> abi::Wait {
    match wait {
        Wait::Spin => abi::Wait::Spin,
        Wait::Block => abi::Wait::Block,
        Wait::Callback => abi::Wait::Callback,
    }
}

fn payload(kind: PayloadKind) -> (abi::PayloadKind, u32, u32) {
    match kind {
        PayloadKind::Timing => (abi::PayloadKind::Timing, 0, 0),
        PayloadKind::Bytes => (abi::PayloadKind::Bytes, 0, 0),
        PayloadKind::Image { width, height } => (abi::PayloadKind::Image, width, height),
    }
}

/// Calls the adapter's function that opens a publisher, subscriber, client or server. Fails if the adapter has no such function.
macro_rules! open {
    ($self:ident, $end:ident, $raw:ident, $owner:ident, $link:ident $(, $more:expr)?) => {{
        let open = $self.calls().$end.ok_or_else(|| Error::unsupported(stringify!($end), &$link.name))?;
        let mut raw = calls::$raw { object: std::ptr::null_mut(), calls: std::ptr::null() };
        text::check_status(|error| open($self.raw.object, &lend($link), $($more,)? &mut raw, error))?;
        Ok($owner::adopt(raw)?)
    }};
}

impl CTransport {
    /// Calls the adapter's function that opens the real transport, or its function that opens the empty transport.
    pub fn open(open: Open, setup: &Setup) -> Result<Self> {
        let setup_copy = OwnedSetup::new(setup)?;
        let mut raw = calls::Transport { object: std::ptr::null_mut(), calls: std::ptr::null() };
        text::check_status(|error| open(&setup_copy.setup, &mut raw, error))?;
        if raw.object.is_null() || raw.calls.is_null() {
            return Err(Error::new("the adapter returned no transport"));
        }
        Ok(Self { raw, _setup: setup_copy })
    }

    fn calls(&self) -> &'static calls::TransportCalls {
        // SAFETY: the ABI guarantees that tables are valid as long as the process runs.
        unsafe { &*self.raw.calls }
    }
}

impl Drop for CTransport {
    fn drop(&mut self) {
        (self.calls().close)(self.raw.object);
    }
}

impl Transport for CTransport {
    fn version(&self) -> Option<String> {
        Some(text::read_text(|out| (self.calls().version)(self.raw.object, out)))
    }

    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        open!(self, publisher, Publisher, CPublisher, link)
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        open!(self, subscriber, Subscriber, CSubscriber, link)
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        open!(self, subscribe, Subscription, CSubscription, link, give_on_frame(on_frame))
    }

    fn server(&self, link: &Link) -> Result<Box<dyn Server>> {
        open!(self, server, Server, CServer, link)
    }

    fn client(&self, link: &Link) -> Result<Box<dyn Client>> {
        open!(self, client, Client, CClient, link)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let ask =
            |facts: extern "C" fn(*mut c_void, *const abi::FactsOut)| text::facts(|out| facts(self.raw.object, out));
        self.calls().facts.map_or_else(Vec::new, ask)
    }
}

/// Borrows a link for one call.
pub fn lend(link: &Link) -> abi::Link {
    let (payload, width, height) = payload(link.payload);
    let message = |field: fn(&MessageType) -> &String| Text::lend(link.message.as_ref().map_or("", |each| field(each)));
    abi::Link {
        name: Text::lend(&link.name),
        address: Text::lend(&link.address),
        receivers: link.receivers,
        payload,
        width,
        height,
        frame_bytes: link.frame_bytes,
        wait: wait(link.wait),
        message_type: message(|each| &each.name),
        message_code: message(|each| &each.code),
        message_object: message(|each| &each.object),
    }
}
