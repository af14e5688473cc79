//! Implements typed carriage: stores a frame's header in the fields of a real message type, which has no field for a
//! header.
//!
//! A real message type has a number, a time and a text field. The text field contains a label: `run pair flags seq
//! checksum` in hexadecimal. All labels have the same length, so a label costs equally much for every message and every
//! middleware.

use crate::contract::{Fill, FrameMut};
use crate::error::{Error, Result};
use crate::frame::{HEADER_BYTES, Header, flags};

/// The length of a label, in bytes.
pub const LABEL_BYTES: usize = 56;
const SECOND_NS: i64 = 1_000_000_000;
/// The positions of the spaces between the fields of a label.
const BLANKS: [usize; 4] = [16, 25, 30, 47];
/// The hexadecimal digits of all fields, in groups of eight, one group per number. The flags have four leading zeros,
/// and the last number is 0.
type Digits = [u8; 64];
/// For each field: its position in the label, its position in the digits, and its length.
const FIELDS: [(usize, usize, usize); 5] = [(0, 0, 16), (17, 16, 8), (26, 28, 4), (31, 32, 16), (48, 48, 8)];

/// Returns the label for a header, which becomes the text of a message.
pub fn label(header: &[u8; HEADER_BYTES]) -> [u8; LABEL_BYTES] {
    let header = Header::fields(header);
    let (run, seq) = (split_u64(header.run), split_u64(header.seq));
    let digits = encode_digits([run.0, run.1, header.pair, header.flags.into(), seq.0, seq.1, header.checksum, 0]);
    let mut text = [b' '; LABEL_BYTES];
    for (at, from, length) in FIELDS {
        text[at..at + length].copy_from_slice(&digits[from..from + length]);
    }
    text
}

/// Writes the label into a message's text, reusing the memory of the text.
pub fn label_into(text: &mut String, header: &[u8; HEADER_BYTES]) {
    text.clear();
    text.extend(label(header).map(char::from));
}

/// Lets `fill` write a frame: the payload into `octets`, and the label into `text`. Returns the seconds and nanoseconds
/// of the message's timestamp.
pub fn write_message(text: &mut String, octets: &mut [u8], fill: Fill<'_>) -> (i64, i64) {
    let mut header = [0; HEADER_BYTES];
    fill.write(FrameMut { header: &mut header, payload: octets });
    label_into(text, &header);
    to_stamp(sent_of(&header))
}

/// Checks that the payload is empty, for a message without a payload field.
pub fn refuse_payload(payload_bytes: usize) -> Result<()> {
    if payload_bytes == 0 {
        return Ok(());
    }
    Err(Error::new(format!("this message has no field for a payload of {payload_bytes} bytes"))
        .remedy("use the payload `bytes`, or a payload `timing` without padding"))
}

/// Splits a time in nanoseconds into the seconds and nanoseconds of a message's timestamp.
pub fn to_stamp(time_ns: i64) -> (i64, i64) {
    (time_ns / SECOND_NS, time_ns % SECOND_NS)
}

/// Returns a message's timestamp in nanoseconds.
pub fn of_stamp(seconds: i64, nanoseconds: i64) -> i64 {
    seconds * SECOND_NS + nanoseconds
}

/// Restores a message's header from the label that the message carried as text. An invalid label yields a header that
/// every receiver rejects as malformed. A message carries no due time, so the due time of the restored header is the
/// sent time; only the source records the real due time.
pub fn header_of(label: &[u8], sent_ns: i64, payload_bytes: usize) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    if let Some(header) = parse_label(label, sent_ns, payload_bytes) {
        header.write(&mut bytes);
    }
    bytes
}

/// Returns the message number in a header.
pub fn seq_of(header: &[u8; HEADER_BYTES]) -> u64 {
    Header::fields(header).seq
}

/// Returns whether the receiver checks the message's payload. An adapter that encodes payloads itself must compare a
/// checked message with the link's message, and pass on the payload only if both are equal.
pub fn is_checked(header: &[u8; HEADER_BYTES]) -> bool {
    Header::fields(header).is(flags::CHECKSUM)
}

/// Returns the sent time in a header, in nanoseconds.
pub fn sent_of(header: &[u8; HEADER_BYTES]) -> i64 {
    Header::fields(header).sent_ns
}

fn parse_label(label: &[u8], sent_ns: i64, payload_bytes: usize) -> Option<Header> {
    let label: &[u8; LABEL_BYTES] = label.try_into().ok()?;
    let mut digits = [b'0'; 64];
    for (at, from, length) in FIELDS {
        digits[from..from + length].copy_from_slice(&label[at..at + length]);
    }
    let [run, more_run, pair, flags, seq, more_seq, checksum, _] = decode_digits(&digits)?;
    let header = Header {
        run: join_u32(run, more_run),
        pair,
        flags: flags as u16,
        seq: join_u32(seq, more_seq),
        due_ns: sent_ns,
        sent_ns,
        length: payload_bytes as u64,
        checksum,
    };
    BLANKS.iter().all(|at| label[*at] == b' ').then_some(header)
}

const fn split_u64(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

fn join_u32(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Encodes all digits at once, because a loop over single digits costs more than all other work on a small message.
fn encode_digits(numbers: [u32; 8]) -> Digits {
    let mut digits = [0; 64];
    for (eight, number) in digits.chunks_exact_mut(8).zip(numbers) {
        eight.copy_from_slice(&spread_digits(number));
    }
    digits.map(digit)
}

fn decode_digits(digits: &Digits) -> Option<[u32; 8]> {
    let (mut values, mut strange) = ([0; 64], 0);
    for (value, said) in values.iter_mut().zip(digits) {
        // The smaller of the two differences is the value of the digit or letter.
        *value = said.wrapping_sub(b'0').min(said.wrapping_sub(b'a' - 10));
        strange |= *value & 0xf0 | digit(*value) ^ said;
    }
    let mut numbers = [0; 8];
    for (number, eight) in numbers.iter_mut().zip(values.chunks_exact(8)) {
        *number = gather_digits(eight);
    }
    (strange == 0).then_some(numbers)
}

fn digit(value: u8) -> u8 {
    value.wrapping_add(if value > 9 { b'a' - 10 } else { b'0' })
}

/// Spreads a number over bytes, four bits per byte, highest bits first.
fn spread_digits(number: u32) -> [u8; 8] {
    let mut values = u64::from(number);
    for (by, kept) in [(16, 0x0000_ffff_0000_ffff), (8, 0x00ff_00ff_00ff_00ff), (4, 0x0f0f_0f0f_0f0f_0f0f)] {
        values = (values | values << by) & kept;
    }
    values.to_be_bytes()
}

fn gather_digits(eight: &[u8]) -> u32 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(eight);
    let mut values = u64::from_be_bytes(bytes);
    for (by, kept) in [(4, 0x00ff_00ff_00ff_00ff), (8, 0x0000_ffff_0000_ffff), (16, 0xffff_ffff)] {
        values = (values | values >> by) & kept;
    }
    values as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::flags;

    const HEADER: Header = Header {
        flags: flags::CHECKSUM | flags::LAST,
        run: 0x0123_4567_89ab_cdef,
        pair: 7,
        seq: u64::MAX - 1,
        due_ns: 41,
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
    fn a_header_survives_its_journey_but_for_the_due_time() {
        let label = label(&bytes());
        assert_eq!(&label, b"0123456789abcdef 00000007 000c fffffffffffffffe deadbeef");
        let back = Header::read(&header_of(&label, sent_of(&bytes()), 9), 9).unwrap();
        assert_eq!(back, Header { due_ns: HEADER.sent_ns, ..HEADER });
        assert_eq!(seq_of(&bytes()), HEADER.seq);
    }

    #[test]
    fn texts_and_stamps_take_what_a_header_has() {
        let mut text = "an older label that is longer than a label is, by some more words".to_owned();
        label_into(&mut text, &bytes());
        assert_eq!(text.as_bytes(), label(&bytes()));
        let (seconds, nanoseconds) = to_stamp(HEADER.sent_ns);
        assert_eq!((seconds, nanoseconds), (1234, 567_890_123));
        assert_eq!(of_stamp(seconds, nanoseconds), HEADER.sent_ns);
    }

    #[test]
    fn a_frame_is_written_into_a_message() {
        let (mut text, mut octets) = (String::new(), [0; 3]);
        let mut write = |frame: FrameMut<'_>| {
            *frame.header = bytes();
            frame.payload.copy_from_slice(b"abc");
        };
        let stamp = write_message(&mut text, &mut octets, Fill::copied_message(&mut write));
        assert_eq!((text.as_bytes(), &octets, stamp), (&label(&bytes())[..], b"abc", to_stamp(HEADER.sent_ns)));
        assert!(refuse_payload(0).is_ok() && refuse_payload(1).is_err());
    }

    #[test]
    fn every_digit_is_read_as_it_is_written() {
        for number in (0..32).map(|bits| 0x1234_5678_u32.rotate_left(bits) ^ 0x9abc_def0) {
            let numbers = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| number.wrapping_mul(at * 2 + 1));
            assert_eq!(encode_digits(numbers), *numbers.map(|each| format!("{each:08x}")).concat().as_bytes());
            assert_eq!(decode_digits(&encode_digits(numbers)), Some(numbers));
        }
    }

    #[test]
    fn what_is_no_label_is_refused() {
        let sound = label(&bytes());
        for (at, byte) in (0..LABEL_BYTES).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
            let mut mangled = sound;
            mangled[at] = byte;
            let is_sound = if BLANKS.contains(&at) { byte == b' ' } else { b"0123456789abcdef".contains(&byte) };
            assert_eq!(parse_label(&mangled, 1, 0).is_some(), is_sound, "byte {at}: {byte}");
        }
        assert!(Header::read(&header_of(&sound[..55], 1, 0), 0).is_err());
        assert!(Header::read(&header_of(b"", 1, 0), 0).is_err());
    }
}
