//! Tests a seeded corpus of mangled frames. Each frame must be accepted or refused, and no frame may crash the reader.

use hopmeter_instrument::frame::{FRAME_VERSION, HEADER_BYTES, Header, Refused, flags};

const RUN: u64 = 0x0123_4567_89AB_CDEF;
const ROUNDS: usize = 300_000;

/// SplitMix64, a small seeded random number generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

fn sound(random: &mut Random) -> (Header, [u8; HEADER_BYTES]) {
    let header = Header {
        flags: (random.next() as u16) & flags::KNOWN,
        run: RUN,
        pair: random.below(4) as u32,
        seq: random.next(),
        due_ns: random.next() as i64,
        sent_ns: random.next() as i64,
        length: random.below(1 << 24) as u64,
        checksum: random.next() as u32,
    };
    let mut bytes = [0; HEADER_BYTES];
    header.write(&mut bytes);
    (header, bytes)
}

#[test]
fn what_was_written_is_read_back() {
    let mut random = Random(1);
    for _ in 0..ROUNDS {
        let (header, bytes) = sound(&mut random);
        assert_eq!(Header::read(&bytes, header.length as usize), Ok(header));
        assert_eq!(Header::accept(&bytes, header.length as usize, RUN, header.pair), Ok(header));
    }
}

#[test]
fn a_changed_bit_is_refused_or_changes_a_field_that_is_free() {
    let mut random = Random(2);
    for _ in 0..ROUNDS {
        let (header, mut bytes) = sound(&mut random);
        let bit = random.below(HEADER_BYTES * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        match Header::accept(&bytes, header.length as usize, RUN, header.pair) {
            // In an accepted frame, every bit of the fixed fields, the run, the pair and the length is determined.
            Ok(read) => {
                assert!(matches!(bit / 8, 6 | 24..=47 | 56..=59), "byte {} changed unseen", bit / 8);
                assert_ne!(read, header);
            }
            Err(Refused::Foreign) => assert!(matches!(bit / 8, 8..=19), "byte {} is not the run or pair", bit / 8),
            Err(Refused::Malformed) => {
                assert!(matches!(bit / 8, 0..=7 | 20..=23 | 48..=55 | 60..=63), "byte {}", bit / 8)
            }
        }
    }
}

#[test]
fn frames_cut_short_or_too_long_are_malformed() {
    let mut random = Random(3);
    for _ in 0..ROUNDS {
        let (header, bytes) = sound(&mut random);
        let cut = random.below(HEADER_BYTES);
        assert_eq!(Header::read(&bytes[..cut], header.length as usize), Err(Refused::Malformed));
        let lie = random.next() as usize;
        if lie as u64 != header.length {
            assert_eq!(Header::read(&bytes, lie), Err(Refused::Malformed));
        }
    }
    assert_eq!(Header::read(&[0; HEADER_BYTES + 1], 0), Err(Refused::Malformed));
}

#[test]
fn noise_is_malformed() {
    let mut random = Random(4);
    for _ in 0..ROUNDS {
        let mut bytes = [0; HEADER_BYTES];
        bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
        let payload_bytes = random.below(1 << 20);
        assert_eq!(Header::read(&bytes, payload_bytes), Err(Refused::Malformed));
    }
}

#[test]
fn other_versions_unknown_marks_and_other_runs_are_refused() {
    let mut random = Random(5);
    for _ in 0..ROUNDS {
        let (header, bytes) = sound(&mut random);
        let length = header.length as usize;
        let mut other = bytes;
        let version = (random.next() as u16).max(1).wrapping_add(FRAME_VERSION).max(FRAME_VERSION + 1);
        other[4..6].copy_from_slice(&version.to_le_bytes());
        assert_eq!(Header::read(&other, length), Err(Refused::Malformed));
        let mut other = bytes;
        other[7] |= 1 << random.below(8);
        assert_eq!(Header::read(&other, length), Err(Refused::Malformed));
        assert_eq!(Header::accept(&bytes, length, RUN ^ random.next().max(1), header.pair), Err(Refused::Foreign));
        assert_eq!(Header::accept(&bytes, length, RUN, header.pair + 1), Err(Refused::Foreign));
    }
}

/// Checks a header against the layout, deliberately with different code from `Header::read`.
fn is_sound(bytes: &[u8], payload_bytes: usize) -> bool {
    let Ok(bytes) = <&[u8; HEADER_BYTES]>::try_from(bytes) else { return false };
    let number = |from: usize, to: usize| bytes[from..to].iter().rev().fold(0_u64, |sum, byte| sum << 8 | *byte as u64);
    bytes.starts_with(b"HOPM")
        && number(4, 6) == 1
        && number(6, 8) < 16
        && number(20, 24) == 0
        && number(48, 56) == payload_bytes as u64
        && number(60, 64) == 0
}

#[test]
fn whatever_is_done_to_a_frame_it_passes_only_where_it_is_sound() {
    let mut random = Random(6);
    let mut passed = 0;
    for _ in 0..ROUNDS {
        let (header, sound) = sound(&mut random);
        let mut bytes = sound.to_vec();
        for _ in 0..random.below(4) {
            let (at, length) = (random.below(HEADER_BYTES), bytes.len());
            match random.below(5) {
                0 => bytes[at % length.max(1)..].iter_mut().take(8).for_each(|byte| *byte = 0xFF),
                1 => bytes[at % length.max(1)..].iter_mut().take(4).for_each(|byte| *byte = 0),
                2 => bytes[at % length.max(1)..].iter_mut().take(1).for_each(|byte| *byte ^= 1),
                3 => bytes.rotate_left(at % length.max(1)),
                _ => bytes.resize(HEADER_BYTES - at % 3, 0),
            }
        }
        let payload_bytes = if random.below(8) == 0 { random.below(1 << 24) } else { header.length as usize };
        let read = Header::read(&bytes, payload_bytes);
        assert_eq!(read.is_ok(), is_sound(&bytes, payload_bytes), "{bytes:?} with {payload_bytes}");
        passed += usize::from(read.is_ok());
    }
    assert!((ROUNDS / 10..ROUNDS * 9 / 10).contains(&passed), "{passed} of {ROUNDS} passed: a corpus of one kind only");
}
