//! Parses the spec file, which is the complete configuration of a node. The planner (in Python) writes the spec file.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::error::{Context, Error, Result};

mod choices;

pub use choices::*;

/// The version of the spec file and of the control channel. Planner and node must use the same version of this format.
pub const SPEC_FORMAT: u32 = 7;

/// One endpoint of this node, and its role.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The endpoint's number, which is unique in the cell and follows the order of the chain. The column `endpoint` of
    /// the samples contains the endpoint's number.
    pub id: u32,
    pub role: RoleKind,
    /// The number of the flow that the endpoint sends or receives.
    pub flow: u32,
    /// The core to which the endpoint is pinned, if any.
    pub core: Option<u32>,
    /// The links that the endpoint receives from. A server that handles several calls concurrently receives from one
    /// link per concurrent call.
    #[serde(rename = "in")]
    pub inputs: Vec<String>,
    /// The links that the endpoint sends to. In the pattern `rpc`, a client sends to one link per concurrent call.
    #[serde(rename = "out")]
    pub outputs: Vec<String>,
    pub work: Work,
    /// For a follower: the endpoints of this node at which arrivals trigger the follower's messages.
    #[serde(default)]
    pub after: Vec<u32>,
    /// How a follower joins the arrivals of several endpoints.
    #[serde(default)]
    pub join: Join,
    /// For a follower: only every `every`-th arrival triggers a message. 0 means 1.
    #[serde(default)]
    pub every: u32,
    /// For a follower: how many messages each triggering arrival triggers. 0 means 1.
    #[serde(default)]
    pub repeat: u32,
    /// For a source with the pace `closed`: the endpoint at which arrivals trigger the source's next message.
    pub returns: Option<u32>,
    /// For a source: the endpoint of this node that provides the latest message on which each sent message is based.
    pub latest: Option<u32>,
    /// The file that stores which arrivals triggered which messages. Followers and sources with `latest` need this
    /// file.
    pub causes: Option<PathBuf>,
    /// How the endpoint waits for messages, if the receivers of the cell wait in different ways. If this value is
    /// `None`, the `wait` of the whole spec applies.
    pub wait: Option<Wait>,
    /// The file for the endpoint's raw samples.
    pub samples: PathBuf,
    /// The maximum number of samples in the file.
    pub capacity: u64,
    /// The file for readings of the thread's counters, in a trial that investigates slow messages.
    pub readings: Option<PathBuf>,
}

/// A message type of the transport, such as a ROS message type, and how the transport carries messages of this type.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MessageType {
    /// The full name of the type, such as `nav_msgs/msg/Odometry`.
    pub name: String,
    /// The directory with the code that hopmeter generated for the type. Empty if the transport needs no generated
    /// code.
    #[serde(default)]
    pub code: String,
    /// The file with the encoded message, if the transport encodes messages itself. The content of this file is then
    /// the payload. Empty if payloads are already encoded messages of the type.
    #[serde(default)]
    pub object: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    pub name: String,
    pub receivers: u32,
    /// How the link's receivers wait; if some receivers use callbacks, how the polled receivers wait.
    pub wait: Wait,
}

/// A stream of messages or calls: their content, and when they are sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The flow's number in the header of each of its frames, unique in the cell.
    pub number: u32,
    pub pattern: Pattern,
    pub payload: PayloadKind,
    pub payload_bytes: usize,
    /// The file with the payloads. If a flow has no payload file, payloads contain a generated pattern.
    pub payload_file: Option<PathBuf>,
    /// The number of payloads in the file, stored one after another.
    #[serde(default = "one")]
    pub payload_frames: usize,
    /// For the pace `replay`: the file with the messages and their due times. For the pace `replay`, `payload_bytes` is
    /// the size of the largest message.
    pub recording: Option<PathBuf>,
    pub touch: Touch,
    /// The codec of the flow's first and last endpoints. `None` if payloads are plain bytes. Also `None` in nodes that
    /// only forward messages.
    pub codec: Option<String>,
    /// The device where the codec's object is stored.
    pub device: Option<String>,
    /// How the codec shares GPU memory. `None` if the codec copies the content through host memory.
    pub share: Option<String>,
    /// The parameters of the codec's object. If the flow has a codec library, the text is the path of the file with the
    /// encoded object.
    pub object: Option<String>,
    /// The codec library, if generated code for a schema converts the object. Always `None` in Python.
    pub library: Option<PathBuf>,
    /// The transport's own type for the messages, or `None` if the messages have no such type.
    pub message: Option<MessageType>,
    pub pace: Pace,
    /// The number of measured messages, which follow `warmup` messages that are not measured.
    pub messages: u64,
    pub warmup: u64,
    /// For a source with returning messages (`returns`): how long the source sends messages. At most `messages` of the
    /// messages are measured.
    pub window: Option<Window>,
    /// Whether every payload has a checksum. Otherwise, only probes, warm-up messages and the last message have
    /// checksums.
    pub checksum: bool,
    pub rpc: Rpc,
    pub reply: Reply,
    /// Whether this flow is a bridge over the instrument's ring. A bridge forwards another flow's messages with
    /// unchanged payloads to a second process of the same participant.
    #[serde(default)]
    pub bridge: bool,
    #[serde(default)]
    pub dispatch: Dispatch,
}

/// How long a source without a fixed number of messages sends: first a period without measuring, then a period with
/// measuring.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    pub warmup_ns: i64,
    pub length_ns: i64,
}

/// A planned restart of the broker or of another node during the trial.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// The time from the start of the schedule until the launcher kills the process. From then on, the transport's
    /// errors do not end this node.
    pub after_ns: i64,
}

/// A node's complete configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub format: u32,
    /// The run id: 16 hexadecimal digits.
    pub run: String,
    pub cell: String,
    pub trial: u32,
    pub node: u32,
    pub transport: String,
    pub settings: serde_json::Map<String, serde_json::Value>,
    pub directory: PathBuf,
    /// The address of the transport's broker, or an empty text if the transport has no broker.
    #[serde(default, rename = "daemon")]
    pub broker: String,
    /// The address on which link ends listen.
    #[serde(default = "loopback")]
    pub bind: Ipv4Addr,
    /// The address at which other nodes reach this node.
    #[serde(default = "loopback")]
    pub advertised: Ipv4Addr,
    /// The directory of a Python adapter. Unused in other languages.
    pub adapter: Option<PathBuf>,
    /// How receivers wait. If this node's receivers wait in different ways, how the polled receivers wait.
    pub wait: Wait,
    /// The time after `go` at which sources stop, even if they have not sent all messages.
    pub limit_ns: i64,
    /// How long receivers keep listening for late messages after the pair's last message has arrived.
    pub drain_ns: i64,
    /// How long a role retries a refused message before it abandons the message.
    pub retry_ns: i64,
    /// How long a client waits before it counts a reply as lost. A source with returning messages waits equally long
    /// for a message to return.
    #[serde(default = "ten_seconds_ns")]
    pub call_ns: i64,
    /// The SCHED_FIFO priority. 0 selects the normal scheduler.
    pub fifo: u32,
    pub mlock: bool,
    /// The maximum number of messages that the node handles concurrently. 0 means no limit.
    #[serde(default)]
    pub threads: u32,
    #[serde(default)]
    pub heap: Heap,
    /// Whether idle cores are kept out of idle states.
    #[serde(default)]
    pub no_idle_states: bool,
    #[serde(default)]
    pub begin: Begin,
    /// The planned restart of the broker or of a node in this trial, or `None` if nothing is restarted.
    pub restart: Option<Restart>,
    /// The flows that this node's endpoints belong to.
    pub flows: Vec<Flow>,
    pub endpoints: Vec<Endpoint>,
    pub links: BTreeMap<String, LinkSpec>,
}

impl Flow {
    /// Returns whether the payloads of two flows have the same content.
    pub fn has_payloads_of(&self, other: &Self) -> bool {
        let content = |flow: &Self| (flow.payload_file.clone(), flow.payload_bytes, flow.payload_frames);
        content(self) == content(other)
    }
}

fn one() -> usize {
    1
}

/// Returns the loopback address, the default for nodes that are all on one machine.
pub fn loopback() -> Ipv4Addr {
    Ipv4Addr::LOCALHOST
}

fn ten_seconds_ns() -> i64 {
    10_000_000_000
}

impl Spec {
    /// Reads a spec file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is not a spec file, or has a different version.
    pub fn read(path: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let text = std::fs::read_to_string(path).context(format!("reading the spec {}", path.display()))?;
        let doing = || format!("understanding the spec {}", path.display());
        // The version is checked first, because a spec of a different version may lack fields of this version.
        let Versioned { format } = serde_json::from_str(&text).context(doing())?;
        if format != SPEC_FORMAT {
            return Err(Error::new(format!("the spec has format {format}, but this node reads format {SPEC_FORMAT}"))
                .remedy("run `hopmeter build` so that the nodes and hopmeter have the same version"));
        }
        serde_json::from_str(&text).context(doing())
    }

    /// Returns the flow with the given number.
    ///
    /// # Errors
    ///
    /// Fails if the spec lists no flow with this number.
    pub fn flow(&self, number: u32) -> Result<&Flow> {
        let found = self.flows.iter().find(|flow| flow.number == number);
        found.ok_or_else(|| Error::new(format!("the spec lists no flow {number}")))
    }

    /// Returns the size in bytes of the largest payload that this node sends or receives over its transport.
    pub fn largest_payload_bytes(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.bridge).map(|flow| flow.payload_bytes).max().unwrap_or(0)
    }

    /// Returns how long a client waits for a reply.
    pub fn patience(&self) -> Duration {
        Duration::from_nanos(self.call_ns.max(0) as u64)
    }

    /// Returns the run id as the number that frames carry.
    ///
    /// # Errors
    ///
    /// Fails if the run id is not 16 hexadecimal digits.
    pub fn run_id(&self) -> Result<u64> {
        u64::from_str_radix(&self.run, 16).context(format!("the run id `{}`", self.run))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a flow that replays a recording.
    pub(crate) fn flow(warmup: u64, messages: u64, payload_bytes: usize) -> Flow {
        let pace = serde_json::json!({ "kind": "replay", "rate_hz": 0.0, "burst": 1, "seed": 0 });
        let flow = serde_json::json!({
            "number": 0, "pattern": "pubsub", "payload": { "kind": "bytes" }, "payload_bytes": payload_bytes,
            "touch": "write", "pace": pace, "messages": messages, "warmup": warmup, "checksum": false,
            "rpc": "duplex", "reply": "echo",
        });
        serde_json::from_value(flow).expect("a flow")
    }
}
