//! Redis Streams: publishers that append messages to a stream of the broker, and receivers that read the stream. Each
//! stream has its link's name.

use std::collections::VecDeque;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use redis::{Cmd, Connection, cmd};

/// If `max_length` is 0, the size in bytes above which the broker deletes a stream's oldest messages.
const MAX_BYTES: u64 = 1 << 30;

/// A message's id, and the name and value of the message's only field. The value is a frame.
type Entry = (String, (String, Vec<u8>));
/// The name and the new messages of each stream that has new messages, or `None` after the timeout.
type Reply = Option<Vec<(String, Vec<Entry>)>>;

/// How publishers and receivers use the streams.
#[derive(Clone)]
pub struct Streams {
    max_pending: usize,
    max_length: u64,
    is_group: bool,
    acknowledges: bool,
    batch: usize,
}

impl Streams {
    pub fn new(setup: &Setup) -> Result<Self> {
        let is_group = setup.setting::<String>("consumer")? == "group";
        Ok(Self {
            max_pending: setup.setting("max_pending")?,
            max_length: setup.setting("max_length")?,
            is_group,
            acknowledges: is_group && setup.setting("acknowledge")?,
            batch: setup.setting("batch")?,
        })
    }
}

/// Appends frames with XADD. If `max_pending` is 1, each send waits for the broker's reply. Otherwise, a send waits
/// only while `max_pending` messages are unconfirmed.
pub struct StreamWriter {
    connection: Connection,
    key: String,
    max_pending: usize,
    max_length: u64,
    messages: u64,
    bytes: u64,
    unconfirmed: usize,
    frame: Vec<u8>,
}

impl StreamWriter {
    pub fn new(connection: Connection, link: &Link, streams: &Streams) -> Self {
        let (key, frame) = (link.name.clone(), Vec::new());
        let Streams { max_pending, max_length, .. } = *streams;
        Self { connection, key, max_pending, max_length, messages: 0, bytes: 0, unconfirmed: 0, frame }
    }

    /// Returns how many messages the stream may contain after a frame is appended. If `max_length` is 0, this is the
    /// number of messages that fit into `MAX_BYTES`, given the average size of the messages so far.
    fn limit_with(&mut self, frame: &[u8]) -> u64 {
        self.messages += 1;
        self.bytes += frame.len() as u64;
        if self.max_length > 0 { self.max_length } else { (MAX_BYTES * self.messages / self.bytes).max(1) }
    }

    fn append(&mut self, frame: &[u8]) -> Result<Sent> {
        self.await_replies(self.max_pending - 1)?;
        let mut command = cmd("XADD");
        command.arg(&self.key).arg("MAXLEN").arg("~").arg(self.limit_with(frame)).arg("*").arg("frame").arg(frame);
        self.connection
            .send_packed_command(&command.get_packed_command())
            .context("appending to a stream of redis-server")?;
        self.unconfirmed += 1;
        if self.max_pending == 1 {
            self.await_replies(0)?;
        }
        Ok(Sent::Accepted)
    }

    /// Waits until at most `limit` messages are unconfirmed.
    fn await_replies(&mut self, limit: usize) -> Result<()> {
        while self.unconfirmed > limit {
            let reply = self.connection.recv_response().and_then(redis::Value::extract_error);
            reply.context("redis-server did not store a message")?;
            self.unconfirmed -= 1;
        }
        Ok(())
    }
}

impl Publisher for StreamWriter {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let mut frame = std::mem::take(&mut self.frame);
        fill.write_into(&mut frame, payload_bytes);
        let sent = self.append(&frame);
        self.frame = frame;
        sent
    }

    /// Sends the received bytes without a copy.
    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<Vec<u8>>() {
            Some(frame) => self.append(frame),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

impl Drop for StreamWriter {
    /// Waits for the outstanding replies, unless the broker has ended.
    fn drop(&mut self) {
        drop(self.await_replies(0));
    }
}

/// Reads the messages that are appended after this reader has opened. It uses XREAD, or XREADGROUP as the only consumer
/// of its own group.
pub struct StreamReader {
    connection: Connection,
    key: String,
    /// The name of the receiver's group, if it has one.
    group: Option<String>,
    acknowledges: bool,
    batch: usize,
    /// The id of the last message that was read.
    last: String,
    arrived: VecDeque<Entry>,
}

impl StreamReader {
    pub fn open(connection: Connection, link: &Link, streams: &Streams) -> Result<Self> {
        let (acknowledges, batch) = (streams.acknowledges, streams.batch);
        let (last, arrived) = ("0-0".into(), VecDeque::new());
        let mut opened = Self { connection, key: link.name.clone(), group: None, acknowledges, batch, last, arrived };
        if streams.is_group { opened.create_group() } else { opened.find_newest() }.context("opening a stream")?;
        Ok(opened)
    }

    /// Creates a group whose name is this connection's number at the broker. No other connection has this number.
    fn create_group(&mut self) -> redis::RedisResult<()> {
        let group: u64 = cmd("CLIENT").arg("ID").query(&mut self.connection)?;
        self.group = Some(group.to_string());
        cmd("XGROUP").arg("CREATE").arg(&self.key).arg(group).arg("$").arg("MKSTREAM").exec(&mut self.connection)
    }

    fn find_newest(&mut self) -> redis::RedisResult<()> {
        let newest = cmd("XREVRANGE").arg(&self.key).arg("+").arg("-").arg("COUNT").arg(1).to_owned();
        let newest: Vec<Entry> = newest.query(&mut self.connection)?;
        if let Some((id, _)) = newest.into_iter().next() {
            self.last = id;
        }
        Ok(())
    }

    /// Waits until the broker returns messages, and stores them.
    fn read(&mut self, timeout: Duration) -> Result<()> {
        let reply: Reply = self.reading(timeout).query(&mut self.connection).context("reading a stream")?;
        self.arrived = reply.into_iter().flatten().flat_map(|(_, entries)| entries).collect();
        if let Some((id, _)) = self.arrived.back() {
            self.last.clone_from(id);
        }
        Ok(())
    }

    fn reading(&self, timeout: Duration) -> Cmd {
        let mut reading = match &self.group {
            Some(group) => cmd("XREADGROUP").arg("GROUP").arg(group).arg("receiver").to_owned(),
            None => cmd("XREAD"),
        };
        if self.batch > 0 {
            reading.arg("COUNT").arg(self.batch);
        }
        // The broker would wait forever with a timeout of zero.
        reading.arg("BLOCK").arg(timeout.as_millis().max(1) as u64);
        if self.group.is_some() && !self.acknowledges {
            reading.arg("NOACK");
        }
        let from = if self.group.is_some() { ">" } else { &self.last };
        reading.arg("STREAMS").arg(&self.key).arg(from).to_owned()
    }
}

impl Subscriber for StreamReader {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        if self.arrived.is_empty() {
            self.read(timeout)?;
        }
        let Some((id, (_, frame))) = self.arrived.pop_front() else { return Ok(0) };
        take(Received::split(&frame).with_native(&frame));
        if let (Some(group), true) = (&self.group, self.acknowledges) {
            let acknowledging = cmd("XACK").arg(&self.key).arg(group).arg(&id).exec(&mut self.connection);
            acknowledging.context("acknowledging a message")?;
        }
        Ok(1)
    }
}
