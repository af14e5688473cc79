//! Tests the ring between processes, some of which are killed. The test's own executable also runs as the other
//! process.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use hopmeter_shm::{Consumer, WhenFull};
use support::{LINK, drain, eventually, join, number, ring, send};

const PART: &str = "HOPMETER_SHM_TEST_PART";
const ADDRESS: &str = "HOPMETER_SHM_TEST_ADDRESS";
/// The environment variable with the command that runs programs on an emulated processor.
const EMULATOR: &str = "HOPMETER_EMULATOR";

/// Another process that takes part in a test; it is killed when the test ends.
struct Other {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Other {
    fn play(part: &str, address: &str) -> Self {
        let mut child = this_executable()
            .args(["--exact", "the_other_process", "--nocapture"])
            .envs([(PART, part), (ADDRESS, address)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Self { child, says }
    }

    /// Returns the part of the process's output that follows `mark`, and skips the lines of the test harness.
    fn hear(&mut self, mark: &str) -> String {
        let mut line = String::new();
        while self.says.read_line(&mut line).unwrap() > 0 {
            if let Some((_, rest)) = line.split_once(mark) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("the other process ended without saying {mark}");
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // The process may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn this_executable() -> Command {
    let (emulator, here) = (std::env::var(EMULATOR).unwrap_or_default(), std::env::current_exe().unwrap());
    let mut words = emulator.split_whitespace();
    let Some(first) = words.next() else { return Command::new(here) };
    let mut command = Command::new(first);
    command.args(words).arg(here);
    command
}

fn say(words: &str) {
    println!("\n{words}");
    std::io::stdout().flush().unwrap();
}

/// This function is not a test, but the entry point of the other process, for which a test starts this executable.
#[test]
fn the_other_process() {
    let (Ok(part), address) = (std::env::var(PART), std::env::var(ADDRESS).unwrap_or_default()) else { return };
    match part.as_str() {
        "reader" => read_all(&address),
        "holder" => hold_one(&address),
        "sleeper" => sleep_in_the_ring(&address),
        "producer" => produce(),
        _ => panic!("no such part: {part}"),
    }
}

fn read_all(address: &str) {
    let mut consumer = Consumer::connect(address, LINK, true).unwrap();
    say("joined:");
    let (mut next, mut last) = (0, false);
    while !last {
        consumer.sleep(Duration::from_secs(5));
        while consumer
            .receive(|header, payload| {
                assert_eq!(number(header, payload), next);
                last = payload.is_empty();
            })
            .unwrap()
        {
            next += 1;
        }
    }
    say(&format!("read: {next}"));
}

fn hold_one(address: &str) {
    let mut consumer = Consumer::connect(address, LINK, false).unwrap();
    say("joined:");
    eventually("a message is there", || consumer.claim().unwrap().is_some());
    say("holding:");
    std::thread::sleep(Duration::from_secs(60));
}

fn sleep_in_the_ring(address: &str) {
    let consumer = Consumer::connect(address, LINK, true).unwrap();
    say("joined:");
    consumer.sleep(Duration::from_secs(60));
}

fn produce() {
    let mut producer = ring(4, 4096, WhenFull::Busy);
    say(&format!("address: {}", producer.address()));
    eventually("somebody listens", || producer.consumers() > 0);
    assert!((0..3).all(|n| send(&mut producer, 4096, n)));
    say("sent:");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn every_byte_reaches_another_process() {
    let mut producer = ring(8, 20_000, WhenFull::Busy);
    let mut other = Other::play("reader", producer.address());
    other.hear("joined:");
    for n in 0..5_000 {
        let payload_bytes = if n == 4_999 { 0 } else { n as usize % 2_500 * 8 + 8 };
        while !send(&mut producer, payload_bytes, n) {
            std::thread::yield_now();
        }
    }
    assert_eq!(other.hear("read:"), "5000");
}

#[test]
fn a_killed_consumer_frees_what_it_held() {
    for (when_full, sent_at_most) in [(WhenFull::Busy, 3), (WhenFull::DropOldest, 2)] {
        let mut producer = ring(if when_full == WhenFull::Busy { 4 } else { 2 }, 64, when_full);
        let mut other = Other::play("holder", producer.address());
        other.hear("joined:");
        assert!(send(&mut producer, 64, 0));
        other.hear("holding:");
        assert!((1..10).filter(|&n| send(&mut producer, 64, n)).count() < sent_at_most);
        other.kill();
        eventually("its death is noticed", || producer.consumers() == 0);
        assert!((0..10).all(|n| send(&mut producer, 64, n)));
    }
}

#[test]
fn a_consumer_killed_asleep_leaves_the_others_working() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let mut consumer = Consumer::connect(producer.address(), LINK, true).unwrap();
    let mut other = Other::play("sleeper", producer.address());
    other.hear("joined:");
    std::thread::sleep(Duration::from_millis(20));
    other.kill();
    eventually("its death is noticed", || producer.consumers() == 1);
    for n in 0..20 {
        assert!(send(&mut producer, 64, n));
        let start = Instant::now();
        consumer.sleep(Duration::from_secs(10));
        assert_eq!(drain(&mut consumer), [n]);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn what_a_killed_producer_sent_can_still_be_read() {
    let mut other = Other::play("producer", "");
    let address = other.hear("address:");
    let mut consumer = Consumer::connect(&address, LINK, true).unwrap();
    other.hear("sent:");
    other.kill();
    assert_eq!(drain(&mut consumer), [0, 1, 2]);
    consumer.sleep(Duration::from_millis(10));
    assert!(drain(&mut consumer).is_empty());
    assert!(Consumer::connect(&address, LINK, true).is_err());
}

#[test]
fn a_killed_consumer_makes_room_for_a_new_one() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let mut other = Other::play("holder", producer.address());
    other.hear("joined:");
    other.kill();
    eventually("its death is noticed", || producer.consumers() == 0);
    let mut consumer = join(&producer);
    assert!(send(&mut producer, 64, 3));
    assert_eq!(drain(&mut consumer), [3]);
}
