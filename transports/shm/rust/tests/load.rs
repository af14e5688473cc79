//! Tests the ring under load: no frame is torn or out of order, and no frame is lost unless the ring may drop frames.

mod support;

use std::thread::{self, JoinHandle};
use std::time::Duration;

use hopmeter_shm::{Consumer, Producer, WhenFull};
use support::{LINK, number, ring, send};

/// Starts a consumer thread, which returns the number of messages that it received before the empty message. The thread
/// checks that each message is intact and newer than the previous message.
fn reader(producer: &Producer, sleeps: bool) -> JoinHandle<u64> {
    let mut consumer = Consumer::connect(producer.address(), LINK, sleeps).unwrap();
    thread::spawn(move || {
        let (mut seen, mut last, mut over) = (0, None, false);
        while !over {
            let took = consumer.receive(|header, payload| {
                follow(&mut last, number(header, payload));
                over = payload.is_empty();
            });
            match (took.unwrap(), sleeps) {
                (true, _) => seen += 1,
                (false, true) => consumer.sleep(Duration::from_secs(60)),
                (false, false) => thread::yield_now(),
            }
        }
        seen
    })
}

fn follow(last: &mut Option<u64>, number: u64) {
    assert!(last.is_none_or(|last| number > last), "{number} came after {last:?}");
    *last = Some(number);
}

/// Sends `messages` messages and one empty message to two sleeping and two spinning readers. Returns the number of
/// messages that each reader saw.
fn run(when_full: WhenFull, slots: u32, payload_bytes: usize, messages: u64) -> Vec<u64> {
    let mut producer = ring(slots, payload_bytes as u64, when_full);
    let readers: Vec<_> = [true, false, true, false].map(|sleeps| reader(&producer, sleeps)).into();
    for n in 0..=messages {
        let payload_bytes = if n == messages { 0 } else { payload_bytes };
        while !send(&mut producer, payload_bytes, n) {
            thread::yield_now();
        }
    }
    readers.into_iter().map(|reader| reader.join().unwrap()).collect()
}

#[test]
fn nothing_is_lost_where_the_producer_waits() {
    for (slots, payload_bytes, messages) in [(2, 64, 5_000), (16, 256, 50_000), (4, 40_000, 3_000)] {
        assert_eq!(run(WhenFull::Busy, slots, payload_bytes, messages), [messages + 1; 4]);
    }
}

#[test]
fn nothing_is_torn_where_the_oldest_is_dropped() {
    for (slots, payload_bytes, messages) in [(2, 256, 100_000), (6, 4096, 100_000), (8, 100_000, 3_000)] {
        let seen = run(WhenFull::DropOldest, slots, payload_bytes, messages);
        assert!(seen.iter().all(|&n| n <= messages + 1), "{seen:?}");
    }
}

#[test]
fn consumers_come_and_go_while_messages_flow() {
    for when_full in [WhenFull::Busy, WhenFull::DropOldest] {
        let mut producer = ring(4, 512, when_full);
        let visitors: Vec<_> = (0..3).map(|_| visitor(producer.address().to_owned())).collect();
        let mut n = 0;
        while visitors.iter().any(|visitor| !visitor.is_finished()) {
            send(&mut producer, 512, n);
            n += 1;
        }
        visitors.into_iter().for_each(|visitor| visitor.join().unwrap());
    }
}

/// Starts a thread that joins the ring 60 times and reads five messages each time. After every second visit, the thread
/// disconnects while it still holds a message.
fn visitor(address: String) -> JoinHandle<()> {
    thread::spawn(move || {
        for visit in 0..60 {
            let mut consumer = Consumer::connect(&address, LINK, false).unwrap();
            let (mut last, mut left) = (None, 5);
            while left > 0 {
                let took = consumer.receive(|header, payload| follow(&mut last, number(header, payload))).unwrap();
                left -= u32::from(took);
                thread::yield_now();
            }
            if visit % 2 == 0 {
                consumer.claim().unwrap();
            }
        }
    })
}
