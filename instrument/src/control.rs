//! Implements the control channel: lines of JSON between launcher and node. No line is sent between `go` and `done`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::clock::ClockQuality;
use crate::error::{Context, Error, Result};
use crate::resources::Resources;
use crate::sync::lock;

/// A message from the launcher to the node.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "say", rename_all = "lowercase")]
pub enum Order {
    /// The addresses of the link ends that bind the links, by link.
    Connect { links: BTreeMap<String, String> },
    /// Send probes until `Proved` arrives.
    Probe,
    /// Every branch of the pair has delivered the same probe message.
    Proved { pair: u32 },
    /// The start time of the schedule.
    Go { start_ns: i64 },
    /// The node must send no more messages, and wait only for late messages. The link ends stay open.
    Stop,
    /// Close all link ends and exit.
    End,
}

/// A message from the node to the launcher.
#[derive(Debug, Serialize)]
#[serde(tag = "say", rename_all = "lowercase")]
pub enum Report {
    Bound {
        links: BTreeMap<String, String>,
        version: String,
        pid: u32,
        /// `None` if sources send their first message at once, because measuring the clock would delay the receivers.
        clock: Option<ClockQuality>,
    },
    Ready,
    /// Every receiver of this node has received its first sample. The node sends this message only if sources send at
    /// once.
    Arrived,
    Probed {
        endpoint: u32,
        pair: u32,
        probe: u64,
    },
    Quiet {
        pair: u32,
    },
    Done {
        endpoints: Vec<Tally>,
        resources: Resources,
        facts: BTreeMap<String, String>,
        /// When the node's process had loaded its libraries, on CLOCK_MONOTONIC.
        loaded_ns: i64,
    },
    Failed {
        error: String,
        remedy: Option<String>,
    },
}

impl Report {
    pub fn failure(error: &Error) -> Self {
        Self::Failed { error: error.what_text(), remedy: error.remedy_text().map(str::to_owned) }
    }
}

/// The counts of one endpoint, without warm-up messages. The fields that change with each message come first in the
/// struct, so that these fields are adjacent in memory.
#[repr(C)]
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Tally {
    /// The number of messages that the transport accepted.
    pub sent: u64,
    pub received: u64,
    /// The total payload bytes of the received messages.
    pub received_bytes: u64,
    /// The time of the last measured message at this endpoint; `first_ns` is the time of the first measured message.
    pub last_ns: i64,
    pub first_ns: i64,
    pub id: u32,
    pub role: String,
    /// The number of abandoned messages, which the transport refused until their retry time expired.
    pub abandoned: u64,
    /// The number of times that the transport refused a message.
    pub busy: u64,
    pub malformed: u64,
    pub foreign: u64,
    /// The number of samples that were not recorded because the recorder was full.
    pub unrecorded: u64,
    /// The number of payloads whose checksum was compared; `content_errors` counts the payloads whose checksum did not
    /// match.
    pub content_checks: u64,
    pub content_errors: u64,
    /// The number of payload copies that relays and servers make because the transport cannot forward a frame without a
    /// copy.
    pub copies: u64,
    /// How often the work of a relay or server took over 100 us longer than requested.
    pub late_work: u64,
    /// The time from the sent timestamp to the return of `send`, summed over all messages. The sum shows how long a
    /// blocking transport delays a sender.
    pub send_ns: i64,
    /// The result of `roles::empty_hop`, for sources only.
    pub empty_hop_ns: Option<i64>,
    /// The time that this endpoint spent spinning to send on time. The CPU time of spinning is counted as CPU time of
    /// the instrument, not of the transport.
    pub pacing_ns: i64,
    /// Whether the time limit ended the schedule before all messages were sent.
    pub limit_reached: bool,
    /// When the link end of a source or sink was open, on CLOCK_MONOTONIC. 0 for other roles.
    pub opened_ns: i64,
}

impl Tally {
    /// Counts a message that the transport accepted, if it is a sample.
    pub fn count_sent(&mut self, is_sample: bool, sent_ns: i64) {
        if is_sample {
            self.sent += 1;
            self.last_ns = sent_ns;
            if self.first_ns == 0 {
                self.first_ns = sent_ns;
            }
        }
    }
}

/// The node's side of the control channel.
pub struct Control {
    writer: Mutex<UnixStream>,
}

impl Control {
    /// Takes ownership of the inherited file descriptor.
    pub fn open(fd: RawFd) -> Result<(Self, impl Iterator<Item = Result<Order>>)> {
        // SAFETY: F_SETFD only changes a flag of the descriptor, and fails if the descriptor is not open.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(Error::system(format!("opening the control channel (descriptor {fd})"))
                .remedy("use `hopmeter run`, which starts nodes"));
        }
        // SAFETY: the launcher passed this open descriptor to this process alone.
        let stream = unsafe { UnixStream::from_raw_fd(fd) };
        let reader = BufReader::new(stream.try_clone().context("duplicating the control channel")?);
        let orders = reader
            .lines()
            .map_while(std::result::Result::ok)
            .map(|line| serde_json::from_str(&line).context(format!("parsing the order `{line}`")));
        Ok((Self { writer: Mutex::new(stream) }, orders))
    }

    /// Sends one report. Errors are ignored: if the launcher is gone, the thread that reads the control channel ends
    /// the node.
    pub fn say(&self, report: &Report) {
        let mut line = serde_json::to_vec(report).unwrap_or_default();
        line.push(b'\n');
        let mut writer = lock(&self.writer);
        let _ = writer.write_all(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_the_launcher_writes_them() {
        let order: Order = serde_json::from_str(r#"{"say":"go","start_ns":5}"#).expect("an order");
        assert_eq!(order, Order::Go { start_ns: 5 });
        assert!(serde_json::from_str::<Order>(r#"{"say":"dance"}"#).is_err());
    }

    #[test]
    fn reports_carry_their_name() {
        let text = serde_json::to_string(&Report::Probed { endpoint: 1, pair: 0, probe: 2 }).expect("JSON");
        assert_eq!(text, r#"{"say":"probed","endpoint":1,"pair":0,"probe":2}"#);
    }
}
