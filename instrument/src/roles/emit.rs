//! Sending: stamping a message as late as possible, and offering it again while the transport is busy.

use std::cell::Cell;
use std::time::Duration;

use crate::clock;
use crate::contract::{Fill, FrameMut, Sent};
use crate::error::Result;
use crate::frame::{Header, flags};
use crate::payload::{self, Content};
use crate::spec::{Spec, Touch};

use super::Desk;

/// How often a refused message is offered again at once, before the offers are spaced.
const EAGER_OFFERS: u32 = 64;
const OFFER_SPACING: Duration = Duration::from_micros(20);
/// From this size on, a payload is written before its message is due, as a camera has its frame ready when it says so.
const WRITTEN_EARLY_BYTES: usize = 16 << 10;
/// How much earlier than the last one took the writing begins.
const LEAD_MARGIN_NS: i64 = 30_000;

/// Writes the frames of one flow.
pub struct Emitter {
    run: u64,
    flow: u32,
    payload_bytes: usize,
    content: Content,
    always_write: bool,
    always_checksum: bool,
    busy_ns: i64,
    lead_ns: Cell<i64>,
    spun_ns: Cell<i64>,
}

/// How an offer ended.
pub enum Offered {
    /// Accepted; stamped with this time.
    Sent(i64),
    /// Refused until the deadline.
    Abandoned,
}

impl Emitter {
    /// # Errors
    /// When the file that is to be the payload cannot be read or has another size than was planned.
    pub fn new(desk: &Desk<'_>) -> Result<Self> {
        let spec: &Spec = desk.spec;
        Ok(Self {
            run: desk.run,
            flow: desk.me.flow,
            payload_bytes: spec.payload_bytes,
            content: Content::of(spec)?,
            always_write: spec.touch != Touch::None,
            always_checksum: spec.checksum,
            busy_ns: spec.busy_ns,
            lead_ns: Cell::new(0),
            spun_ns: Cell::new(0),
        })
    }

    /// How long before its time the next message should be offered, so that its payload is written when it is due.
    pub fn lead_ns(&self) -> i64 {
        self.lead_ns.get()
    }

    /// How long it spun, samples only, between writing a payload and the time its message was due.
    pub fn spun_ns(&self) -> i64 {
        self.spun_ns.get()
    }

    /// The header of a message, complete but for the sent time and the checksum.
    pub fn header(&self, seq: u64, marks: u16, intended_ns: i64) -> Header {
        let checked = self.always_checksum || marks != 0;
        Header {
            flags: marks | if checked { flags::CHECKSUM } else { 0 },
            run: self.run,
            flow: self.flow,
            seq,
            intended_ns,
            sent_ns: 0,
            length: self.payload_bytes as u64,
            checksum: 0,
        }
    }

    /// Offers a message until it is accepted or its deadline is over; counts the refusals of a sample in `busy`.
    ///
    /// # Errors
    /// When the transport fails.
    pub fn offer(
        &self,
        header: Header,
        busy: &mut u64,
        mut send: impl FnMut(usize, Fill<'_>) -> Result<Sent>,
    ) -> Result<Offered> {
        let (mut sent_ns, mut refused) = (0, 0);
        let accepted = insist(self.busy_ns, &mut refused, || {
            send(self.payload_bytes, &mut |frame| sent_ns = self.write(header, frame))
        })?;
        *busy += if header.is_sample() { refused } else { 0 };
        Ok(if accepted { Offered::Sent(sent_ns) } else { Offered::Abandoned })
    }

    /// Writes one frame; what it costs lies before the stamp, which comes last and never before the message is due.
    #[inline]
    fn write(&self, mut header: Header, frame: FrameMut<'_>) -> i64 {
        if self.always_write || header.is(flags::CHECKSUM) {
            self.write_payload(&mut header, frame.payload);
        }
        header.write(frame.header);
        let sent_ns = clock::now_ns();
        Header::stamp_sent(frame.header, sent_ns);
        sent_ns
    }

    fn write_payload(&self, header: &mut Header, payload: &mut [u8]) {
        let begun_ns = clock::now_ns();
        self.content.fill(header.seq, payload);
        if header.is(flags::CHECKSUM) {
            header.checksum = payload::checksum(payload);
        }
        if self.always_write && payload.len() >= WRITTEN_EARLY_BYTES {
            let written_ns = clock::now_ns();
            let took_ns = written_ns - begun_ns;
            self.lead_ns.set(took_ns + took_ns / 4 + LEAD_MARGIN_NS);
            let spun_ns = clock::spin_until(header.intended_ns) - written_ns;
            self.spun_ns.set(self.spun_ns.get() + if header.is_sample() { spun_ns } else { 0 });
        }
    }
}

/// Repeats a send that answers `Busy`, eagerly first and spaced later; false when the deadline is over.
///
/// # Errors
/// When the transport fails.
#[inline]
pub fn insist(busy_ns: i64, busy: &mut u64, mut send: impl FnMut() -> Result<Sent>) -> Result<bool> {
    if send()? == Sent::Accepted {
        return Ok(true);
    }
    let deadline_ns = clock::now_ns() + busy_ns;
    for offers in 1.. {
        *busy += 1;
        if clock::now_ns() >= deadline_ns {
            break;
        }
        pause(offers);
        if send()? == Sent::Accepted {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cold]
fn pause(offers: u32) {
    if offers < EAGER_OFFERS {
        std::thread::yield_now();
    } else {
        std::thread::sleep(OFFER_SPACING);
    }
}
