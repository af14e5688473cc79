//! Compares the ring with iceoryx2 (spinning, two cores) and with a bare futex (blocking, one core).
//!
//! Each result is half of a closed round trip between two new processes: the cost of one hop. Results of the ring and
//! of the other program alternate. What counts is the median of the ratios of all pairs, with its 95 % interval. Exit
//! status 1 means that an interval is completely above its limit. `shm-bench [PAIRS]`, or `shm-bench hop` for a single
//! result.

mod iceoryx;
mod outcome;
mod pingpong;
mod ring;

use std::error::Error;
use std::process::ExitCode;

use outcome::Comparison;
use pingpong::{Plan, measure};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The camera image of the studies: 1440 x 1080 pixels of three bytes.
const IMAGE_BYTES: usize = 1440 * 1080 * 3;

extern "C" {
    fn bare_futex_ns(rounds: u32, core_here: i32, core_there: i32) -> i64;
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.first().map(String::as_str) {
        Some("echo") => pingpong::echo(&words[1..]).map(|()| true),
        Some("hop") => tell_hop(&words[1..]).map(|()| true),
        Some(pairs) => pairs.parse().map_err(|_| usage()).and_then(compare_all),
        None => compare_all(12),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("shm-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> Box<dyn Error> {
    "usage: shm-bench [PAIRS], or shm-bench hop ring|iceoryx2 BYTES ROUNDS".into()
}

/// Prints the nanoseconds of one hop, spinning on two cores.
fn tell_hop(words: &[String]) -> Result<()> {
    let [transport, numbers @ ..] = words else { return Err(usage()) };
    let transport = if transport == "ring" { "ring" } else { "iceoryx2" };
    let [frame_bytes, rounds] = numbers else { return Err(usage()) };
    let plan = Plan { rounds: rounds.parse()?, ..Plan::spinning(transport, frame_bytes.parse()?) };
    println!("{:.1}", measure(&plan)?);
    Ok(())
}

fn compare_all(pairs: usize) -> Result<bool> {
    let mut good = true;
    for frame_bytes in [64, IMAGE_BYTES] {
        let name = format!("spin, two cores, {frame_bytes} B, against iceoryx2");
        let ours = Plan { rounds: 200_000, ..Plan::spinning("ring", frame_bytes) };
        let theirs = Plan { rounds: 100_000, ..Plan::spinning("iceoryx2", frame_bytes) };
        good &= Comparison::of(&name, 1.0, pairs, || measure(&ours), || measure(&theirs))?.tell();
    }
    let ours = Plan { rounds: 50_000, frame_bytes: 64, ..Plan::blocking() };
    let name = "block, one core, 64 B, against a bare futex";
    good &= Comparison::of(name, 1.3, pairs, || measure(&ours), || bare_futex(50_000))?.tell();
    Ok(good)
}

fn bare_futex(rounds: u32) -> Result<f64> {
    // SAFETY: it forks a child that runs C only, and waits for it.
    match unsafe { bare_futex_ns(rounds, 0, 0) } {
        ns if ns > 0 => Ok(ns as f64 / f64::from(rounds) / 2.0),
        _ => Err("the bare futex could not be measured (is core 0 allowed?)".into()),
    }
}
