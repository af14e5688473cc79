//! Defines the types of the spec file's values that are chosen from a fixed set.

use serde::Deserialize;

use crate::copying::{Into, Way};

/// How a receiver waits.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    Spin,
    Block,
    Callback,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    Pubsub,
    Rpc,
    Scatter,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Touch {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "write")]
    Write,
    #[serde(rename = "write+read")]
    WriteRead,
}

/// How the source paces its messages.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    pub kind: PaceKind,
    /// The number of messages per second, or 0 for paces without a fixed rate (`closed`, `max`).
    pub rate_hz: f64,
    /// The number of messages per burst. The source sends `rate_hz / burst` bursts per second.
    pub burst: u32,
    /// For the pace `ramp`: the final rate, in messages per second, which is above 0.
    pub ramp_to_hz: Option<f64>,
    /// How long before a message's due time a thread stops sleeping and spins. If this time is 0, the thread never
    /// spins. If this time is `None`, the instrument learns how long to spin.
    pub spin_ns: Option<i64>,
    /// The seed of the random intervals of the pace `poisson`.
    pub seed: u64,
    /// The time from the start until the first message is due.
    #[serde(default)]
    pub first_ns: i64,
    /// The turn in which the messages of this node are due, if several sides alternate. `None` if messages may be due
    /// at any time.
    pub turn: Option<Turn>,
}

impl Pace {
    /// Returns whether messages are due one at a time, at a rate of at least `least_hz`, so that the receiver is idle
    /// before each message.
    pub fn is_spaced(&self, least_hz: f64) -> bool {
        let slowest_hz = self.rate_hz.min(self.last_hz());
        matches!(self.kind, PaceKind::Open | PaceKind::Poisson | PaceKind::Ramp) && slowest_hz >= least_hz
    }

    /// Returns the rate at the end of the trial, in messages per second.
    pub fn last_hz(&self) -> f64 {
        self.ramp_to_hz.unwrap_or(self.rate_hz)
    }
}

/// The turns of several sides whose nodes run concurrently. The sides' turns alternate and have the same length. The
/// first turn of side 0 begins at the start of the schedule. No message of a side is due in another side's turn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The length of a turn in nanoseconds, which is above 0.
    pub length_ns: i64,
    pub sides: u32,
    /// The number of this side, counted from 0.
    pub side: u32,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum PaceKind {
    Open,
    Poisson,
    Burst,
    Ramp,
    Closed,
    Max,
    Replay,
}

impl PaceKind {
    /// Returns whether each message waits until the previous one has returned, in cells with returning messages.
    pub fn awaits_return(self) -> bool {
        self == Self::Closed
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum RoleKind {
    Source,
    /// A follower sends a message after messages of other flows have arrived at its node.
    Follower,
    Relay,
    Sink,
    Client,
    Server,
}

/// The work that a relay or server does before it forwards a message, or that a sink does after a message has arrived.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase", deny_unknown_fields, tag = "kind")]
pub enum Work {
    None,
    Sleep {
        ns: i64,
    },
    Spin {
        ns: i64,
    },
    Copy {
        /// The number of bytes to copy. If `bytes` is `None`, the whole payload is copied.
        bytes: Option<usize>,
        #[serde(default)]
        way: Way,
        #[serde(default)]
        into: Into,
    },
}

/// The kind of data in a payload; an adapter with typed carriage selects its message type by the kind. Raw carriage
/// ignores the kind.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase", deny_unknown_fields, tag = "kind")]
pub enum PayloadKind {
    /// The small message of the relay study, without padding.
    Timing,
    /// Arbitrary bytes.
    #[default]
    Bytes,
    /// Pixels of three bytes each, without gaps between rows.
    Image { width: u32, height: u32 },
}

impl PayloadKind {
    /// Returns the width and height of an image payload, or (0, 0) for a payload that is not an image.
    pub fn image_size(self) -> (u32, u32) {
        match self {
            Self::Image { width, height } => (width, height),
            Self::Timing | Self::Bytes => (0, 0),
        }
    }
}

/// How an rpc link is implemented: by the transport's own rpc, or by two pubsub links, one in each direction.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Rpc {
    Native,
    Duplex,
}

/// The order in which a scatter client calls its servers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Dispatch {
    /// Calls all servers concurrently.
    #[default]
    Parallel,
    /// The client calls each server after it has received the reply of the previous server.
    Sequential,
}

/// Whether the process retains the memory that a node frees, for later messages.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Heap {
    /// The process retains freed memory for the next message.
    #[default]
    Retain,
    /// The C library decides whether to retain freed memory.
    Libc,
}

/// How a follower combines the arrivals of the flows that it follows.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// Each arrival counts separately.
    #[default]
    Any,
    /// One new arrival from every followed flow together counts as one arrival.
    All,
}

/// When the sources send their first messages.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// The sources send after probes have arrived on every link.
    #[default]
    Linked,
    /// Each source sends as soon as its own link end is open, like a program that does not wait for its receivers.
    AtOnce,
}

/// The content of a server's reply.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// The whole request.
    Echo,
    /// The header of the request, without a payload.
    Header,
}
