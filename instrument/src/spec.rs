//! The spec file: all that a node is told before it starts. Written by the planner (Python), read here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::copying::{Into, Way};
use crate::error::{Context, Error, Result};

/// The version of the spec file and of the control channel; both ends must agree.
pub const SPEC_FORMAT: u32 = 2;

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
    /// Messages per second; 0 where the kind has no rate (`closed`, `max`).
    pub rate_hz: f64,
    /// Messages per burst; the bursts come at `rate_hz / burst`.
    pub burst: u32,
    /// How long before the intended time sleeping turns into spinning; 0 never spins, and nothing learns it.
    #[serde(default)]
    pub spin_ns: Option<i64>,
    /// For `poisson`.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum PaceKind {
    Open,
    Poisson,
    Burst,
    Closed,
    Max,
}

impl PaceKind {
    /// Whether each message waits until the one before has come back, where messages do.
    pub fn awaits_return(self) -> bool {
        self == Self::Closed
    }

    /// Whether messages fall due one by one, so that a receiver is idle again before the next.
    pub fn is_spaced(self) -> bool {
        matches!(self, Self::Open | Self::Poisson)
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum RoleKind {
    Source,
    Relay,
    Sink,
    Client,
    Server,
}

/// What a relay or server does per message before it passes it on, and a sink when it has come.
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
        /// Nothing: as many as the payload has, out of it.
        bytes: Option<usize>,
        #[serde(default)]
        way: Way,
        #[serde(default)]
        into: Into,
    },
}

/// What a payload stands for. Raw carriage need not know; typed carriage picks its message by it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase", deny_unknown_fields, tag = "kind")]
pub enum PayloadKind {
    /// The small message of the relay study, without padding.
    Timing,
    /// Any bytes.
    #[default]
    Bytes,
    /// Pixels of three bytes each, rows without gaps.
    Image { width: u32, height: u32 },
}

impl PayloadKind {
    /// Width and height of an image; zeros for anything else.
    pub fn image_size(self) -> (u32, u32) {
        match self {
            Self::Image { width, height } => (width, height),
            Self::Timing | Self::Bytes => (0, 0),
        }
    }
}

/// How an rpc link is carried: by the transport's own calls, or by two pubsub links, one each way.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Rpc {
    Native,
    Duplex,
}

/// In which order a scatter asks its servers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Asking {
    /// All at once.
    #[default]
    Parallel,
    /// Each when the one before has answered.
    Sequential,
}

/// What becomes of memory that a node frees.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Heap {
    /// It is kept for the next message.
    #[default]
    Kept,
    /// What the C library does by itself.
    Libc,
}

/// What a server sends back.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// The whole request.
    Echo,
    /// The request's header alone.
    Header,
}

/// One role taken in this node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    /// Unique in the cell, in the order of the chain; the `participant` column of the samples.
    pub id: u32,
    pub role: RoleKind,
    /// The pair this participant belongs to, 0 for the first.
    pub flow: u32,
    /// The core it is pinned to, or none.
    pub core: Option<u32>,
    /// Links it receives from.
    #[serde(rename = "in")]
    pub inputs: Vec<String>,
    /// Links it sends to.
    #[serde(rename = "out")]
    pub outputs: Vec<String>,
    pub work: Work,
    /// How it receives, where not all receivers of the cell wait alike; else as the spec says.
    #[serde(default)]
    pub wait: Option<Wait>,
    /// The file its raw samples go to.
    pub samples: PathBuf,
    /// How many samples the file can hold.
    pub capacity: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    pub name: String,
    pub receivers: u32,
}

/// All that a node is told before it starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub format: u32,
    /// 16 hexadecimal digits.
    pub run: String,
    pub cell: String,
    pub trial: u32,
    pub node: u32,
    pub transport: String,
    pub settings: serde_json::Map<String, serde_json::Value>,
    pub directory: PathBuf,
    /// Where the transport's daemon listens, where it has one.
    #[serde(default)]
    pub daemon: String,
    /// The folder of a Python adapter; unused elsewhere.
    pub adapter: Option<PathBuf>,
    pub pattern: Pattern,
    /// How receivers wait; where they differ, how those of this node wait that are polled.
    pub wait: Wait,
    pub payload: PayloadKind,
    pub payload_bytes: usize,
    /// The file whose bytes payloads are; a pattern where there is none.
    #[serde(default)]
    pub payload_file: Option<PathBuf>,
    /// How many payloads the file holds, one after another.
    #[serde(default = "one")]
    pub payload_frames: usize,
    pub touch: Touch,
    /// What the ends encode and decode with; absent where payloads are bytes, and for nodes that only pass them on.
    #[serde(default)]
    pub codec: Option<String>,
    /// Where the object lives, for a codec.
    #[serde(default)]
    pub device: Option<String>,
    /// How the memory of a GPU is shared, for a codec; absent where what is in it goes through the host.
    #[serde(default)]
    pub share: Option<String>,
    /// What the object is made of, for a codec.
    #[serde(default)]
    pub object: Option<String>,
    pub pace: Pace,
    /// Messages measured, after `warmup` more that are not.
    pub messages: u64,
    pub warmup: u64,
    /// From `go` on, the time after which sources stop even if messages are left.
    pub limit_ns: i64,
    /// How long receivers listen for stragglers after the end.
    pub drain_ns: i64,
    /// How long a refused message is offered again before it is abandoned.
    pub busy_ns: i64,
    /// How long a client waits for a reply before it counts it as lost.
    #[serde(default = "ten_seconds_ns")]
    pub call_ns: i64,
    /// Checksum every payload, not only those of warm-up and the last.
    pub checksum: bool,
    pub rpc: Rpc,
    pub reply: Reply,
    #[serde(default)]
    pub asking: Asking,
    /// SCHED_FIFO priority, 0 for the ordinary scheduler.
    pub fifo: u32,
    pub mlock: bool,
    #[serde(default)]
    pub heap: Heap,
    /// Idle cores stay awake.
    #[serde(default)]
    pub awake: bool,
    pub participants: Vec<Participant>,
    pub links: BTreeMap<String, LinkSpec>,
}

fn one() -> usize {
    1
}

fn ten_seconds_ns() -> i64 {
    10_000_000_000
}

impl Spec {
    /// Reads a spec file.
    ///
    /// # Errors
    /// When it cannot be read, is not a spec, or is of another version.
    pub fn read(path: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let text = std::fs::read_to_string(path).context(format!("reading the spec {}", path.display()))?;
        let doing = || format!("understanding the spec {}", path.display());
        // First of all: a spec of another version may have no field as it is known here.
        let Versioned { format } = serde_json::from_str(&text).context(doing())?;
        if format != SPEC_FORMAT {
            return Err(Error::new(format!("the spec has format {format}, this node speaks {SPEC_FORMAT}"))
                .remedy("run `hopmeter build` so that nodes and launcher are of one version"));
        }
        serde_json::from_str(&text).context(doing())
    }

    /// How long a reply is waited for.
    pub fn patience(&self) -> Duration {
        Duration::from_nanos(self.call_ns.max(0) as u64)
    }

    /// The run id as the frames carry it.
    ///
    /// # Errors
    /// When it is not 16 hexadecimal digits.
    pub fn run_id(&self) -> Result<u64> {
        u64::from_str_radix(&self.run, 16).context(format!("the run id `{}`", self.run))
    }
}
