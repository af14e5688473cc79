//! Implements the first steps of every receiver: checking and counting a frame, and separating probes and warm-up
//! messages from samples.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::clock;
use crate::codec::{Codec, Decoded};
use crate::contract::Received;
use crate::control::{Control, Report, Tally};
use crate::error::Result;
use crate::frame::{Header, Refused, flags};
use crate::listen_limit::ListenLimit;
use crate::payload;
use crate::recorder::NONE_NS;
use crate::resources::Meter;
use crate::spec::Touch;
use crate::thread_log::{Mark, ThreadLog};

use super::{Progress, RoleContext};

/// A received frame of this pair, with its arrival time. If the receiver decodes objects, the arrival includes the
/// decoded object.
pub struct Arrival<'a> {
    pub header: Header,
    pub arrived_ns: i64,
    /// The time when decoding ended, or `NONE_NS` without a codec.
    pub decoded_ns: i64,
    object: Option<Box<dyn Decoded + 'a>>,
}

/// Checks the frames of one pair, and counts accepted and refused frames. The fields that every message needs are in
/// the first cache line of this struct. In a process with many relays, the other cache lines of the struct have left
/// the cache when the next message arrives.
#[repr(C, align(64))]
pub struct Intake {
    run: u64,
    pair: u32,
    read_payload: bool,
    check_all: bool,
    /// Whether `log` exists. The flag is in the first cache line, and `log` is not.
    is_logged: bool,
    meter: Arc<Meter>,
    codec: Option<Arc<dyn Codec>>,
    pub tally: Tally,
    control: Arc<Control>,
    limit: Arc<ListenLimit>,
    log: Option<Box<ThreadLog>>,
    /// The channel on which to report the first sample, or `None` if the launcher does not wait for the first sample.
    first: Option<Sender<Progress>>,
}

impl Intake {
    pub fn new(context: &RoleContext<'_>, limit: Arc<ListenLimit>) -> Self {
        Self {
            run: context.run,
            pair: context.me.flow,
            read_payload: context.flow.touch == Touch::WriteRead,
            codec: None,
            check_all: context.flow.checksum,
            is_logged: context.me.readings.is_some(),
            meter: context.meter.clone(),
            control: context.control.clone(),
            limit,
            tally: context.tally(),
            log: ThreadLog::new(context.me, context.flow),
            first: context.begins_at_once().then(|| context.node.clone()),
        }
    }

    /// Creates the intake of the last receiver, which decodes objects if the flow has a codec. Receivers before the
    /// last one only forward the frame.
    pub fn last(context: &RoleContext<'_>, limit: Arc<ListenLimit>) -> Self {
        Self { codec: context.codec.clone(), ..Self::new(context, limit) }
    }

    /// Checks a frame's header, and sets the arrival time unless a callback has already set it. With `touch =
    /// "write+read"`, the arrival time is read after the receiver has read the payload. Returns `None` if the frame is
    /// refused.
    #[inline(always)]
    pub fn admit<'a>(&mut self, received: &Received<'a>) -> Option<Arrival<'a>> {
        let arrived_ns = if self.read_payload {
            payload::read_all(received.payload);
            clock::now_ns()
        } else {
            received.stamp_arrival().arrived_ns
        };
        match Header::accept(received.header, received.payload.len(), self.run, self.pair) {
            Ok(header) => {
                if self.is_logged {
                    self.read_counters(&header, Mark::Arrived, arrived_ns);
                }
                Some(self.decode(header, arrived_ns, received))
            }
            Err(refused) => {
                self.refuse(refused);
                None
            }
        }
    }

    /// Decodes a frame's object and records the time when decoding ended. A header-only reply contains no object.
    #[inline(always)]
    fn decode<'a>(&self, header: Header, arrived_ns: i64, received: &Received<'a>) -> Arrival<'a> {
        let codec = self.codec.as_ref().filter(|_| !received.payload.is_empty());
        let object = codec.map(|codec| codec.decode(received.payload));
        let decoded_ns = if object.is_some() { clock::now_ns() } else { NONE_NS };
        Arrival { header, arrived_ns, decoded_ns, object }
    }

    #[cold]
    fn refuse(&mut self, refused: Refused) {
        match refused {
            Refused::Malformed => self.tally.malformed += 1,
            Refused::Foreign => self.tally.foreign += 1,
        }
    }

    /// Counts a sample. Call `count` after the sample has been recorded and forwarded, so that no measured interval
    /// contains the counting.
    #[inline]
    pub fn count(&mut self, arrival: &Arrival<'_>, received: &Received<'_>) {
        if arrival.header.is_sample() {
            if self.tally.received == 0 {
                self.note_first(arrival.arrived_ns);
            }
            self.tally.received += 1;
            self.tally.received_bytes += received.payload.len() as u64;
            self.tally.last_ns = arrival.arrived_ns;
            self.meter.begin();
        }
        if let Some(object) = &arrival.object {
            self.tally.content_checks += 1;
            let thoroughly = self.check_all || arrival.header.flags != 0;
            self.tally.content_errors += u64::from(!object.is_right(thoroughly));
        }
        if arrival.header.is(flags::CHECKSUM) {
            self.check_content(arrival.header.checksum, received.payload);
        }
        if arrival.header.is(flags::LAST) {
            self.limit.drain(arrival.arrived_ns);
        }
        self.read_counters_now(&arrival.header, Mark::Done);
    }

    #[cold]
    fn note_first(&mut self, arrived_ns: i64) {
        self.tally.first_ns = arrived_ns;
        if let Some(node) = &self.first {
            let _ = node.send(Progress::Arrived);
        }
    }

    /// Reads this thread's performance counters now, if the trial requests readings.
    #[inline]
    pub fn read_counters_now(&mut self, header: &Header, mark: Mark) {
        if self.is_logged {
            self.read_counters(header, mark, clock::now_ns());
        }
    }

    #[cold]
    fn read_counters(&mut self, header: &Header, mark: Mark, at_ns: i64) {
        if let Some(log) = &mut self.log {
            log.read(header.is_sample().then_some(header.seq), mark, at_ns);
        }
    }

    /// Writes the counter readings, if there are any.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write_log(&mut self) -> Result<()> {
        self.log.take().map_or(Ok(()), |log| log.finish())
    }

    /// Counts how often the transport refused a sample, and how many copies were needed to forward the sample. Usually
    /// the transport refuses no sample and makes no copies, and the counters stay unchanged.
    #[inline]
    pub fn count_sending(&mut self, refused: u64, copied: u64) {
        if refused | copied != 0 {
            self.tally.busy += refused;
            self.tally.copies += copied;
        }
    }

    /// Compares a payload with its checksum. The checksum is passed by value, so that it stays in a register.
    #[cold]
    fn check_content(&mut self, checksum: u32, payload: &[u8]) {
        self.tally.content_checks += 1;
        self.tally.content_errors += u64::from(payload::checksum(payload) != checksum);
    }

    /// Reports to the launcher that a probe has arrived.
    #[cold]
    pub fn say_probed(&self, header: &Header) {
        let (endpoint, pair) = (self.tally.id, self.pair);
        self.control.say(&Report::Probed { endpoint, pair, probe: header.seq });
    }
}
