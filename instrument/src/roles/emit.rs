//! Sends messages. Sets each message's timestamp as late as possible, and retries if the transport is busy.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::codec::Codec;
use crate::contract::{Fill, FrameMut, Publisher, Sent};
use crate::control::Tally;
use crate::error::{Error, Result};
use crate::frame::{Header, flags};
use crate::payload::{self, Content};
use crate::recorder::{NONE_NS, Record};
use crate::spec::Touch;

use super::RoleContext;
use super::message_loop::Call;
use super::passed::Passed;

/// The number of immediate retries of a refused message. A pause precedes every later retry.
const EAGER_OFFERS: u32 = 64;
const OFFER_SPACING: Duration = Duration::from_micros(20);
/// The minimum size of payloads that are written before their due time, into memory that the role obtains from the
/// transport. A camera also has an image ready at the time that the camera reports for the image.
const READY_EARLY_BYTES: usize = 16 << 10;
/// The safety margin for early payload writes. A write begins earlier than the duration of the previous write requires,
/// by this margin.
const LEAD_MARGIN_NS: i64 = 30_000;

/// Writes and sends the frames of one pair.
pub struct Emitter {
    run: u64,
    pair: u32,
    payload_bytes: usize,
    content: Arc<Content>,
    always_write: bool,
    always_checksum: bool,
    codec: Option<Arc<dyn Codec>>,
    retry_ns: i64,
    /// The duration of the last early payload write, and the payload's size.
    took: Cell<(i64, usize)>,
    spun_ns: Cell<i64>,
}

/// The send times of a message. If a codec encodes the message, this time is the time before encoding.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    pub sent_ns: i64,
    /// The time when encoding ended, or `NONE_NS` if no codec encodes the message.
    pub encoded_ns: i64,
}

impl Stamps {
    /// Returns when the message was passed to the transport.
    pub fn handed_over_ns(&self) -> i64 {
        self.sent_ns.max(self.encoded_ns)
    }
}

/// The outcome of an attempt to send a message.
pub enum Offered {
    /// The transport accepted the message.
    Sent(Stamps),
    /// The transport refused the message again and again, until the retry time expired.
    Abandoned,
}

impl Emitter {
    pub fn new(context: &RoleContext<'_>) -> Self {
        let flow = context.flow;
        Self {
            run: context.run,
            pair: context.me.flow,
            payload_bytes: flow.payload_bytes,
            content: context.content.clone(),
            always_write: flow.touch != Touch::None,
            always_checksum: flow.checksum,
            codec: context.codec.clone(),
            retry_ns: context.spec.retry_ns,
            took: Cell::new((0, 0)),
            spun_ns: Cell::new(0),
        }
    }

    /// Returns how long before its due time a message of `next_bytes` must be sent, so that its payload is ready at the
    /// due time.
    pub fn lead_ns(&self, next_bytes: usize) -> i64 {
        let (took_ns, bytes) = self.took.get();
        if bytes == 0 || !is_early(next_bytes) {
            return 0;
        }
        let expected_ns = (took_ns as f64 * next_bytes as f64 / bytes as f64) as i64;
        expected_ns + expected_ns / 4 + LEAD_MARGIN_NS
    }

    /// Returns the time spent spinning between the end of a payload write and the due time, summed over all samples.
    pub fn spun_ns(&self) -> i64 {
        self.spun_ns.get()
    }

    /// Creates the header of a message, without the sent time and the checksum.
    pub fn header(&self, seq: u64, marks: u16, due_ns: i64) -> Header {
        // With a codec, the receiver compares the decoded object, not the payload bytes.
        let checked = self.codec.is_none() && (self.always_checksum || marks != 0);
        Header {
            flags: marks | if checked { flags::CHECKSUM } else { 0 },
            run: self.run,
            pair: self.pair,
            seq,
            due_ns,
            sent_ns: 0,
            length: self.bytes_of(marks, seq) as u64,
            checksum: 0,
        }
    }

    /// Publishes and counts a message. The record has no sent time if the message was abandoned.
    pub fn publish(
        &self,
        publisher: &mut dyn Publisher,
        call: Call,
        passed: Option<Passed<'_>>,
        tally: &mut Tally,
    ) -> Result<Record> {
        let header = self.header(call.seq, call.marks, call.due_ns);
        let offered = self.offer_or_pass(header, passed, &mut tally.busy, |bytes, fill| publisher.send(bytes, fill))?;
        let mut record = Record { due_ns: call.due_ns, ..Record::of(call.seq) };
        match offered {
            Offered::Sent(Stamps { sent_ns, encoded_ns }) => {
                (record.sent_ns, record.encoded_ns) = (sent_ns, encoded_ns);
                tally.count_sent(call.is_sample(), sent_ns);
            }
            Offered::Abandoned => tally.abandoned += u64::from(call.is_sample()),
        }
        Ok(record)
    }

    /// Returns the payload size of a message. A probe is as large as the flow's largest message, to prove that the link
    /// can carry messages of this size.
    fn bytes_of(&self, marks: u16, seq: u64) -> usize {
        let recorded = self.content.recording().and_then(|recording| recording.entry(marks, seq));
        recorded.map_or(self.payload_bytes, |entry| entry.bytes)
    }

    /// Sends a message, retrying until the transport accepts it or the retry time expires. Adds the number of refusals
    /// to `busy`.
    pub fn offer(
        &self,
        header: Header,
        busy: &mut u64,
        send: impl FnMut(usize, Fill<'_>) -> Result<Sent>,
    ) -> Result<Offered> {
        match &self.codec {
            None => self.offer_frame(header, busy, |frame, begun_ns| self.write(header, frame, begun_ns), send),
            Some(codec) => self.offer_object(codec.as_ref(), header, busy, send),
        }
    }

    /// Sends a message like [`Self::offer`], but forwards the payload in `passed` if `passed` is not `None`.
    pub fn offer_or_pass(
        &self,
        header: Header,
        passed: Option<Passed<'_>>,
        busy: &mut u64,
        send: impl FnMut(usize, Fill<'_>) -> Result<Sent>,
    ) -> Result<Offered> {
        let Some(passed) = passed else { return self.offer(header, busy, send) };
        let header = passed.header(header);
        let write = |frame: FrameMut<'_>, _| {
            frame.payload.copy_from_slice(passed.payload);
            header.write(frame.header);
        };
        self.offer_frame(header, busy, write, send)
    }

    /// Encodes the object once, and reuses the encoded object in retries.
    fn offer_object(
        &self,
        codec: &dyn Codec,
        header: Header,
        busy: &mut u64,
        mut send: impl FnMut(usize, Fill<'_>) -> Result<Sent>,
    ) -> Result<Offered> {
        let sent_ns = clock::now_ns();
        let object = codec.encode()?;
        let encoded_ns = clock::now_ns();
        let bytes = self.check_length(object.bytes()?)?;
        let header = Header { sent_ns, length: bytes as u64, ..header };
        let (mut written, mut refused) = (Ok(()), 0);
        let accepted = offer_until_accepted(self.retry_ns, &mut refused, || {
            let mut write = |frame: FrameMut<'_>| {
                header.write(frame.header);
                written = object.write(frame.payload);
            };
            send(bytes, Fill::copied_message(&mut write))
        })?;
        written?;
        *busy += if header.is_sample() { refused } else { 0 };
        Ok(if accepted { Offered::Sent(Stamps { sent_ns, encoded_ns }) } else { Offered::Abandoned })
    }

    /// Checks the object's encoded length, because the link ends were opened for payloads of the planned length.
    fn check_length(&self, bytes: usize) -> Result<usize> {
        if bytes == self.payload_bytes {
            return Ok(bytes);
        }
        let planned = self.payload_bytes;
        Err(Error::new(format!(
            "the encoded object has {bytes} bytes, but had {planned} bytes when the run was planned"
        ))
        .remedy("do not change the framework during the measurement"))
    }

    /// Sends a frame that `write` fills. For a large payload, `write` also receives the time at which the attempt to
    /// send began.
    #[inline]
    fn offer_frame(
        &self,
        header: Header,
        busy: &mut u64,
        mut write: impl FnMut(FrameMut<'_>, i64),
        mut send: impl FnMut(usize, Fill<'_>) -> Result<Sent>,
    ) -> Result<Offered> {
        let (sent_ns, mut refused, bytes) = (Cell::new(0), 0, header.length as usize);
        let accepted = offer_until_accepted(self.retry_ns, &mut refused, || {
            let begun_ns = if is_early(bytes) { clock::now_ns() } else { 0 };
            let mut write = |frame: FrameMut<'_>| write(frame, begun_ns);
            send(bytes, Fill::new_message(&mut write, &sent_ns))
        })?;
        *busy += if header.is_sample() { refused } else { 0 };
        let stamps = Stamps { sent_ns: sent_ns.get(), encoded_ns: NONE_NS };
        Ok(if accepted { Offered::Sent(stamps) } else { Offered::Abandoned })
    }

    /// Writes the frame, then waits until the message is due; the sent time is read afterwards.
    fn write(&self, mut header: Header, frame: FrameMut<'_>, begun_ns: i64) {
        if self.always_write || header.is(flags::CHECKSUM) {
            self.write_payload(&mut header, frame.payload);
        }
        header.write(frame.header);
        if is_early(header.length as usize) {
            self.wait_until_due(&header, begun_ns);
        }
    }

    fn write_payload(&self, header: &mut Header, payload: &mut [u8]) {
        let known = self.content.fill(header, payload);
        if header.is(flags::CHECKSUM) {
            header.checksum = known.unwrap_or_else(|| payload::checksum(payload));
        }
    }

    /// Waits until the message is due after its payload is ready. The write time of a payload is not stored if only
    /// this payload has a checksum, because payloads without a checksum are written faster.
    fn wait_until_due(&self, header: &Header, begun_ns: i64) {
        let ready_ns = clock::now_ns();
        let took_ns = ready_ns - begun_ns;
        if self.always_write || !header.is(flags::CHECKSUM) {
            self.took.set((took_ns, header.length as usize));
        }
        let spun_ns = clock::spin_until_counting(header.due_ns, ready_ns);
        self.spun_ns.set(self.spun_ns.get() + if header.is_sample() { spun_ns } else { 0 });
    }
}

fn is_early(payload_bytes: usize) -> bool {
    payload_bytes >= READY_EARLY_BYTES
}

/// Retries a send that returns `Busy`, first without pauses and later with pauses. Returns false if the retry time
/// expires.
#[inline]
pub fn offer_until_accepted(retry_ns: i64, busy: &mut u64, mut send: impl FnMut() -> Result<Sent>) -> Result<bool> {
    if send()? == Sent::Accepted {
        return Ok(true);
    }
    let retry_until_ns = clock::now_ns() + retry_ns;
    for offers in 1.. {
        *busy += 1;
        if clock::now_ns() >= retry_until_ns {
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

#[cfg(test)]
mod tests;
