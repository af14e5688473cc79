//! Typed carriage: how a header travels in the fields of a real message, which knows nothing of frames.
//!
//! A message has a number, a time and a text. The text is a label of fixed length in ASCII,
//! `run flow flags seq checksum` in hexadecimal, so that it costs every message and every middleware the same.

use crate::frame::{HEADER_BYTES, Header};

/// The length of a label.
pub const LABEL_BYTES: usize = 56;
/// The fields of a label: where each begins, and how many digits it has.
const RUN: (usize, usize) = (0, 16);
const FLOW: (usize, usize) = (17, 8);
const FLAGS: (usize, usize) = (26, 4);
const SEQ: (usize, usize) = (31, 16);
const CHECKSUM: (usize, usize) = (48, 8);
const FIELDS: [(usize, usize); 5] = [RUN, FLOW, FLAGS, SEQ, CHECKSUM];

/// What of a header goes into the text of a message.
pub fn label(header: &[u8; HEADER_BYTES]) -> [u8; LABEL_BYTES] {
    let header = Header::fields(header);
    let values = [header.run, header.flow.into(), header.flags.into(), header.seq, header.checksum.into()];
    let mut text = [b' '; LABEL_BYTES];
    for ((at, digits), value) in FIELDS.into_iter().zip(values) {
        write(&mut text[at..at + digits], value);
    }
    text
}

/// The header that a message carried. A text that is no label gives one that every receiver refuses as malformed.
/// The intended time does not travel: the sent time stands in its place, and the source has recorded it.
pub fn header_of(label: &[u8], sent_ns: i64, payload_bytes: usize) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    if let Some(header) = parsed(label, sent_ns, payload_bytes) {
        header.write(&mut bytes);
    }
    bytes
}

/// The number of the message.
pub fn seq_of(header: &[u8; HEADER_BYTES]) -> u64 {
    Header::fields(header).seq
}

/// When it was sent, in nanoseconds.
pub fn sent_of(header: &[u8; HEADER_BYTES]) -> i64 {
    Header::fields(header).sent_ns
}

fn parsed(label: &[u8], sent_ns: i64, payload_bytes: usize) -> Option<Header> {
    if label.len() != LABEL_BYTES || [16, 25, 30, 47].iter().any(|at| label[*at] != b' ') {
        return None;
    }
    let field = |(at, digits): (usize, usize)| read(&label[at..at + digits]);
    Some(Header {
        run: field(RUN)?,
        flow: field(FLOW)? as u32,
        flags: field(FLAGS)? as u16,
        seq: field(SEQ)?,
        intended_ns: sent_ns,
        sent_ns,
        length: payload_bytes as u64,
        checksum: field(CHECKSUM)? as u32,
    })
}

fn write(digits: &mut [u8], mut value: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(value & 15) as usize];
        value >>= 4;
    }
}

/// No digit; it has bits that no digit has.
const NO_DIGIT: u8 = 0xff;
const DIGITS: [u8; 256] = digits();

const fn digits() -> [u8; 256] {
    let mut table = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    table
}

/// Looks once at the end whether all were digits: a branch for each would cost more than the reading.
fn read(digits: &[u8]) -> Option<u64> {
    let (mut value, mut seen) = (0, 0);
    for digit in digits {
        let digit = DIGITS[usize::from(*digit)];
        seen |= digit;
        value = value << 4 | u64::from(digit & 15);
    }
    (seen < 16).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::flags;

    const HEADER: Header = Header {
        flags: flags::CHECKSUM | flags::LAST,
        run: 0x0123_4567_89ab_cdef,
        flow: 7,
        seq: u64::MAX - 1,
        intended_ns: 41,
        sent_ns: 1_234_567_890_123,
        length: 9,
        checksum: 0xdead_beef,
    };

    fn bytes() -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        HEADER.write(&mut bytes);
        bytes
    }

    #[test]
    fn a_header_survives_its_journey_but_for_the_intended_time() {
        let label = label(&bytes());
        assert_eq!(&label, b"0123456789abcdef 00000007 000c fffffffffffffffe deadbeef");
        let back = Header::read(&header_of(&label, sent_of(&bytes()), 9), 9).unwrap();
        assert_eq!(back, Header { intended_ns: HEADER.sent_ns, ..HEADER });
        assert_eq!(seq_of(&bytes()), HEADER.seq);
    }

    #[test]
    fn what_is_no_label_is_refused() {
        let sound = label(&bytes());
        for at in 0..LABEL_BYTES {
            let mut mangled = sound;
            mangled[at] = b'x';
            assert!(Header::read(&header_of(&mangled, 1, 0), 0).is_err(), "byte {at}");
        }
        assert!(Header::read(&header_of(&sound[..55], 1, 0), 0).is_err());
        assert!(Header::read(&header_of(b"", 1, 0), 0).is_err());
    }
}
