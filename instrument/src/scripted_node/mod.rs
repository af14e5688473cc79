//! Implements a node that runs single commands for the conformance suite, such as opening a link end or sending a
//! frame.
//!
//! The control channel carries one JSON command per line and one JSON answer per command: `{"ok":…}` or
//! `{"error":…,"remedy":…}`. Unlike a measuring node, a scripted node runs no role. The commands test how an adapter
//! handles content, order, sizes and closing.

mod ends;
mod frames;
mod words;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::contract::{Setup, Transport};
use crate::error::{Context, Error, Result};
use crate::node::Host;

use ends::End;
use words::{Command, Opening};

/// Runs commands until the control channel closes.
///
/// # Errors
///
/// Fails if the control channel cannot be used or the transport cannot be opened.
pub fn run(host: &Host<'_>, control_fd: RawFd) -> Result<()> {
    // SAFETY: the conformance suite passed this descriptor to this process, and no other code owns it.
    let mut channel = unsafe { UnixStream::from_raw_fd(control_fd) };
    let reader = BufReader::new(channel.try_clone().context("duplicating the control channel")?);
    let mut scripted_node: Option<ScriptedNode> = None;
    for line in reader.lines().map_while(std::result::Result::ok) {
        let answer = match &mut scripted_node {
            None => open(host, &line).map(|opened| {
                scripted_node = Some(opened);
                json!({ "opened": host.transport })
            }),
            Some(scripted_node) => scripted_node.run_command(&line),
        };
        let answer = answer.map_or_else(
            |error| json!({ "error": error.what_text(), "remedy": error.remedy_text() }),
            |value| json!({ "ok": value }),
        );
        writeln!(channel, "{answer}").context("answering")?;
    }
    Ok(())
}

fn open(host: &Host<'_>, line: &str) -> Result<ScriptedNode> {
    let opening: Opening = serde_json::from_str(line).context(format!("understanding `{line}`"))?;
    let run = opening.run_id()?;
    let setup = Setup {
        run: opening.run,
        directory: opening.directory,
        broker: opening.broker,
        bind: opening.bind,
        advertised: opening.advertised,
        settings: opening.settings,
        largest_frame_bytes: opening.largest_frame_bytes,
    };
    Ok(ScriptedNode { run, transport: (host.open)(&setup)?, ends: HashMap::new() })
}

/// Rust drops fields in declaration order, so the link ends are dropped before the transport, as in a measuring node.
struct ScriptedNode {
    ends: HashMap<String, End>,
    transport: Arc<dyn Transport>,
    run: u64,
}

impl ScriptedNode {
    fn run_command(&mut self, line: &str) -> Result<Value> {
        let command: Command = serde_json::from_str(line).context(format!("understanding `{line}`"))?;
        match command {
            Command::Open { end, name, link } => {
                let opened = End::open(end, self.transport.as_ref(), &link.into())?;
                let address = opened.address();
                self.ends.insert(name, opened);
                Ok(json!({ "address": address }))
            }
            Command::Send { name, frames } => {
                let run = self.run;
                self.end(&name)?.send(run, &frames)
            }
            Command::Receive { name, count, within_ms } => self.end(&name)?.receive(count, within_ms),
            Command::Forward { from, to, count, within_ms } => self.forward(&from, &to, count, within_ms),
            Command::Serve { name, count, within_ms } => self.end(&name)?.serve(count, within_ms),
            Command::Keep { name, within_ms } => self.end(&name)?.keep(within_ms),
            Command::Close { name } => {
                let end = self.ends.remove(&name).ok_or_else(|| unknown_end_error(&name))?;
                drop(end);
                Ok(json!({}))
            }
            Command::Facts => Ok(json!(self.transport.facts())),
            Command::Census => Ok(count_resources()),
        }
    }

    fn end(&mut self, name: &str) -> Result<&mut End> {
        self.ends.get_mut(name).ok_or_else(|| unknown_end_error(name))
    }

    fn forward(&mut self, from: &str, to: &str, count: u64, within_ms: u64) -> Result<Value> {
        let mut publisher = self.ends.remove(to).ok_or_else(|| unknown_end_error(to))?;
        let forwarded = self.end(from).and_then(|source| source.forward(&mut publisher, count, within_ms));
        self.ends.insert(to.to_owned(), publisher);
        forwarded
    }
}

fn unknown_end_error(name: &str) -> Error {
    Error::new(format!("no end is called `{name}`"))
}

/// Returns the number of open descriptors and of threads of this process.
fn count_resources() -> Value {
    let count = |folder: &str| std::fs::read_dir(folder).map(|entries| entries.count()).unwrap_or(0);
    json!({ "descriptors": count("/proc/self/fd"), "threads": count("/proc/self/task") })
}
