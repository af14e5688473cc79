//! Writes the frames of a scripted node, and describes the frames that it receives.

use serde_json::{Value, json};

use crate::clock;
use crate::contract::{FrameMut, Received};
use crate::frame::{HEADER_BYTES, Header, flags};
use crate::payload;

/// Returns the header of a frame with a checksum. The caller must still compute the checksum from the frame's content.
fn header(run: u64, seq: u64, payload_bytes: usize) -> Header {
    Header {
        flags: flags::CHECKSUM,
        run,
        pair: 0,
        seq,
        due_ns: clock::now_ns(),
        sent_ns: clock::now_ns(),
        length: payload_bytes as u64,
        checksum: 0,
    }
}

/// Writes a complete frame.
pub fn write(run: u64, seq: u64, frame: FrameMut<'_>) {
    let mut header = header(run, seq, frame.payload.len());
    payload::fill(seq, frame.payload);
    header.checksum = payload::checksum(frame.payload);
    header.write(frame.header);
}

/// Returns a complete frame as a header and a payload in new memory.
pub fn test_frame(run: u64, seq: u64, payload_bytes: usize) -> ([u8; HEADER_BYTES], Vec<u8>) {
    let (mut header, mut payload) = ([0; HEADER_BYTES], vec![0; payload_bytes]);
    write(run, seq, FrameMut { header: &mut header, payload: &mut payload });
    (header, payload)
}

/// Returns a frame's sequence number and length, and whether its content is intact, for the conformance suite.
pub fn describe_frame(received: &Received<'_>) -> Value {
    match Header::read(received.header, received.payload.len()) {
        Err(refused) => json!({ "refused": refused.to_string() }),
        Ok(header) => {
            let whole = payload::checksum(received.payload) == header.checksum;
            json!({ "seq": header.seq, "payload_bytes": received.payload.len(), "whole": whole })
        }
    }
}
