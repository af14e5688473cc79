//! Parses arbitrary bytes as a frame. The parser must accept or reject the bytes without crashing. Writing an accepted
//! header must produce the same bytes.

#![no_main]

use hopmeter_instrument::frame::{HEADER_BYTES, Header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|given: (&[u8], usize, u64, u32)| {
    let (bytes, payload_bytes, run, pair) = given;
    if let Ok(header) = Header::read(bytes, payload_bytes) {
        let mut again = [0; HEADER_BYTES];
        header.write(&mut again);
        assert_eq!(bytes, again);
    }
    if let Ok(header) = Header::accept(bytes, payload_bytes, run, pair) {
        assert_eq!((header.run, header.pair), (run, pair));
    }
});
