//! Defines the commands of a scripted node.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::Deserialize;

use crate::contract::Link;
use crate::error::{Context, Result};
use crate::spec::{MessageType, PayloadKind, Wait, loopback};

/// The first command, which opens the transport.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub run: String,
    pub directory: PathBuf,
    #[serde(default, rename = "daemon")]
    pub broker: String,
    #[serde(default = "loopback")]
    pub bind: Ipv4Addr,
    #[serde(default = "loopback")]
    pub advertised: Ipv4Addr,
    pub settings: serde_json::Map<String, serde_json::Value>,
    pub largest_frame_bytes: usize,
}

impl Opening {
    pub fn run_id(&self) -> Result<u64> {
        u64::from_str_radix(&self.run, 16).context(format!("the run id `{}`", self.run))
    }
}

/// The kinds of link ends.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndKind {
    Publisher,
    /// A subscriber that is polled or calls a callback, depending on its link's `wait`.
    Subscriber,
    Server,
    Client,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkWords {
    pub name: String,
    #[serde(default)]
    pub address: String,
    pub receivers: u32,
    pub payload: PayloadKind,
    pub frame_bytes: usize,
    pub wait: Wait,
    pub message: Option<MessageType>,
}

impl From<LinkWords> for Link {
    fn from(words: LinkWords) -> Self {
        let LinkWords { name, address, receivers, payload, frame_bytes, wait, message } = words;
        Self { name, address, receivers, payload, frame_bytes, wait, message }
    }
}

/// The frames to send: `seq`, `seq + 1`, …, each with a checksum of its content.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameWords {
    pub seq: u64,
    pub count: u64,
    pub payload_bytes: usize,
    /// How long a refused frame is retried. If this time is 0, each frame is tried only once.
    pub within_ms: u64,
    /// Whether to send the header and the payload separately, from memory that the caller owns.
    #[serde(default)]
    pub parts: bool,
}

/// A command of the conformance suite.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Command {
    Open {
        end: EndKind,
        name: String,
        link: LinkWords,
    },
    /// Sends frames from a publisher, or requests from a client.
    Send {
        name: String,
        frames: FrameWords,
    },
    /// Receives frames at a subscriber, or replies at a client.
    Receive {
        name: String,
        count: u64,
        within_ms: u64,
    },
    Forward {
        from: String,
        to: String,
        count: u64,
        within_ms: u64,
    },
    /// Answers each request with the request's content.
    Serve {
        name: String,
        count: u64,
        within_ms: u64,
    },
    /// Retains one frame after its callback has returned, receives a second frame, and checks that the first frame is
    /// unchanged.
    Keep {
        name: String,
        within_ms: u64,
    },
    Close {
        name: String,
    },
    Facts,
    Census,
}
