use super::*;
use crate::frame::HEADER_BYTES;
use crate::recording::tests::recording;

fn emitter() -> Emitter {
    Emitter {
        run: 7,
        pair: 5,
        payload_bytes: 100,
        content: Arc::default(),
        always_write: true,
        always_checksum: true,
        codec: None,
        retry_ns: 0,
        took: Cell::new((0, 0)),
        spun_ns: Cell::new(0),
    }
}

/// Returns the header and payload of the frame that forwards `payload`.
fn pass(from: &Header, payload: &[u8]) -> (Header, Vec<u8>) {
    let (emitter, mut frame) = (emitter(), vec![0; HEADER_BYTES + payload.len()]);
    let sent = emitter.offer_or_pass(
        emitter.header(3, flags::LAST, 40),
        Some(Passed::of(from, payload)),
        &mut 0,
        |bytes, fill| {
            assert_eq!(bytes, payload.len(), "not the size of the emitter's own payload");
            fill.write(FrameMut::split(&mut frame));
            Ok(Sent::Accepted)
        },
    );
    assert!(matches!(sent, Ok(Offered::Sent(_))));
    let header = Header::read(&frame[..HEADER_BYTES], payload.len()).expect("a whole frame");
    (header, frame[HEADER_BYTES..].to_vec())
}

#[test]
fn a_message_of_a_recording_has_its_own_size_and_a_lead_in_proportion() {
    let (small, large) = (vec![1; 10], vec![2; 2 * READY_EARLY_BYTES]);
    let content = Content::Recording(Arc::new(recording(&[(0, &small), (0, &large), (0, &small)])));
    let emitter = Emitter { content: Arc::new(content), payload_bytes: large.len(), ..emitter() };
    let length = |marks, seq| emitter.header(seq, marks, 0).length as usize;
    assert_eq!([length(0, 0), length(0, 1), length(flags::LAST, 2)], [small.len(), large.len(), small.len()]);
    assert_eq!(length(flags::PROBE, 0), large.len(), "a probe proves that the largest message arrives");
    assert_eq!(emitter.lead_ns(large.len()), 0, "no message has been written yet");
    emitter.took.set((4_000, READY_EARLY_BYTES));
    assert_eq!(emitter.lead_ns(large.len()), 10_000 + LEAD_MARGIN_NS);
    assert_eq!(emitter.lead_ns(small.len()), 0, "a small message is written when it is due");
}

#[test]
fn a_payload_is_passed_on_with_its_checksum_in_a_message_of_its_own() {
    let payload = b"as it arrived";
    let from =
        Header { flags: flags::CHECKSUM, run: 7, pair: 0, seq: 11, due_ns: 1, sent_ns: 2, length: 13, checksum: 99 };
    let (header, bytes) = pass(&from, payload);
    assert_eq!((header.pair, header.seq, header.due_ns), (5, 3, 40));
    assert_eq!((header.flags, header.checksum, bytes.as_slice()), (flags::LAST | flags::CHECKSUM, 99, &payload[..]));
}

#[test]
fn a_payload_without_a_checksum_gets_none() {
    let from = Header { flags: 0, run: 7, pair: 0, seq: 0, due_ns: 0, sent_ns: 0, length: 0, checksum: 0 };
    let (header, bytes) = pass(&from, &[]);
    assert_eq!((header.flags, header.checksum, bytes.len()), (flags::LAST, 0, 0));
}
