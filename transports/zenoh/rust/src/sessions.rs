//! The sessions of a node and their peers.
//!
//! A zenoh session needs its peers' addresses when the session opens, but a node learns these addresses one at a time.
//! The binding ends of a node share one listening session, and the node's connecting ends share one session per
//! address. If the address is the node's own address, the link ends connect within the listening session, without a
//! socket.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use hopmeter_instrument::prelude::*;
use serde::Deserialize;
use zenoh::{Config, Session, Wait};

use crate::frames::SharedMemory;

/// The maximum number of bytes that zenoh adds to a frame, with a margin for its own messages.
const MARGIN_BYTES: usize = 65_536;

/// How link ends share sessions.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    Shared,
    Own,
}

/// A listening session, with its address.
#[derive(Clone)]
pub struct Listening {
    pub session: Session,
    pub address: String,
}

pub struct Sessions {
    sharing: Sharing,
    shared_memory: SharedMemory,
    bind: Ipv4Addr,
    advertised: Ipv4Addr,
    /// The largest message that a session may receive.
    message_bytes: usize,
    listening: Mutex<Option<Listening>>,
    connected: Mutex<HashMap<String, Session>>,
    /// Whether any link of this node connects to another session.
    others: AtomicBool,
}

impl Sessions {
    pub fn new(setup: &Setup, shared_memory: SharedMemory) -> Result<Self> {
        Ok(Self {
            sharing: setup.setting("session")?,
            shared_memory,
            bind: setup.bind,
            advertised: setup.advertised,
            message_bytes: setup.largest_frame_bytes + MARGIN_BYTES,
            listening: Mutex::default(),
            connected: Mutex::default(),
            others: AtomicBool::new(false),
        })
    }

    /// Returns the session for a link end that binds.
    pub fn listening_session(&self) -> Result<Listening> {
        if self.sharing == Sharing::Own {
            return self.listen();
        }
        let mut listening = lock(&self.listening);
        if let Some(listening) = &*listening {
            return Ok(listening.clone());
        }
        Ok(listening.insert(self.listen()?).clone())
    }

    /// Returns the session for a link end that connects.
    pub fn connected_session(&self, address: &str) -> Result<Session> {
        if let Some(own) = lock(&self.listening).as_ref().filter(|own| own.address == address) {
            return Ok(own.session.clone());
        }
        self.others.store(true, Ordering::Relaxed);
        if self.sharing == Sharing::Own {
            return self.connect(address);
        }
        let mut connected = lock(&self.connected);
        if let Some(session) = connected.get(address) {
            return Ok(session.clone());
        }
        let session = self.connect(address)?;
        connected.insert(address.into(), session.clone());
        Ok(session)
    }

    pub fn reach_others(&self) -> bool {
        self.others.load(Ordering::Relaxed)
    }

    fn listen(&self) -> Result<Listening> {
        let session = self.open("listen/endpoints", &format!("tcp/{}:0", self.bind))?;
        let locators = session.info().locators().wait();
        let port =
            locators.first().and_then(|first| first.to_string().rsplit_once(':').map(|(_, port)| port.to_owned()));
        let port = port.ok_or_else(|| Error::new("zenoh does not report the port on which it listens"))?;
        Ok(Listening { session, address: format!("tcp/{}:{port}", self.advertised) })
    }

    fn connect(&self, address: &str) -> Result<Session> {
        self.open("connect/endpoints", address)
    }

    fn open(&self, key: &str, endpoint: &str) -> Result<Session> {
        let config = self.config(key, endpoint).context("configuring zenoh")?;
        zenoh::open(config).wait().context(format!("opening a zenoh session at {endpoint}"))
    }

    /// Returns the configuration of a peer that listens or connects at one address, and searches for no other peers.
    fn config(&self, key: &str, endpoint: &str) -> zenoh::Result<Config> {
        let mut config = Config::default();
        let shares = self.shared_memory != SharedMemory::Off;
        let copies_itself = self.shared_memory == SharedMemory::Auto;
        for (key, value) in [
            ("mode", "\"peer\""),
            ("scouting/multicast/enabled", "false"),
            ("scouting/gossip/enabled", "false"),
            ("listen/endpoints", "[]"),
            ("connect/exit_on_failure", "true"),
            ("connect/timeout_ms", "10000"),
            ("transport/link/rx/max_message_size", &self.message_bytes.to_string()),
            ("transport/shared_memory/enabled", if shares { "true" } else { "false" }),
            ("transport/shared_memory/transport_optimization/enabled", if copies_itself { "true" } else { "false" }),
            (key, &format!("[\"{endpoint}\"]")),
        ] {
            config.insert_json5(key, value)?;
        }
        Ok(config)
    }
}
