//! Shared code of the ring's tests: rings of small frames, and payloads that reveal torn frames.

#![allow(dead_code, reason = "not every test file uses all of it")]

use hopmeter_shm::{Consumer, Options, Producer, WhenFull};

pub const LINK: &str = "test_l0";

pub fn ring(slots: u32, payload_bytes: u64, when_full: WhenFull) -> Producer {
    Producer::open(LINK, &Options { slots, payload_bytes, when_full }).unwrap()
}

pub fn join(producer: &Producer) -> Consumer {
    Consumer::connect(producer.address(), LINK, false).unwrap()
}

/// Sends a frame in which every 8 bytes contain `number`. Returns whether the ring had room for the frame.
pub fn send(producer: &mut Producer, payload_bytes: usize, number: u64) -> bool {
    let Some(mut loan) = producer.loan(payload_bytes).unwrap() else { return false };
    let (header, payload) = loan.frame();
    for word in header.chunks_exact_mut(8).chain(payload.chunks_exact_mut(8)) {
        word.copy_from_slice(&number.to_le_bytes());
    }
    loan.publish();
    true
}

/// Returns the number that every 8 bytes of a frame contain.
pub fn number(header: &[u8], payload: &[u8]) -> u64 {
    let words = header.chunks_exact(8).chain(payload.chunks_exact(8));
    let mut words = words.map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let first = words.next().unwrap();
    assert!(words.all(|word| word == first), "message {first} is torn");
    first
}

/// Reads all available frames, and returns the number that each frame contains.
pub fn drain(consumer: &mut Consumer) -> Vec<u64> {
    let mut seen = Vec::new();
    while consumer.receive(|header, payload| seen.push(number(header, payload))).unwrap() {}
    seen
}

/// Waits until `holds` returns true, which depends on the progress of another thread or process.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "still not so: {what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
