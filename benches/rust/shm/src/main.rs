//! Measures the cost of one hop as half of a round trip between two new processes, over the ring, iceoryx2 or a bare
//! futex. `shm-bench hop ring|ring-blocking|iceoryx2|futex BYTES ROUNDS` prints nanoseconds. Processes that use the
//! ring or iceoryx2 spin on two cores; processes that use the blocking ring or the futex share one core.

mod iceoryx;
mod pingpong;
mod ring;

use std::error::Error;
use std::process::ExitCode;

use pingpong::{Plan, measure};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

extern "C" {
    fn bare_futex_ns(rounds: u32, core_here: i32, core_there: i32) -> i64;
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.first().map(String::as_str) {
        Some("echo") => pingpong::echo(&words[1..]),
        Some("hop") => print_hop(&words[1..]),
        _ => Err(usage()),
    };
    if let Err(error) = outcome {
        eprintln!("shm-bench: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn usage() -> Box<dyn Error> {
    "usage: shm-bench hop ring|ring-blocking|iceoryx2|futex BYTES ROUNDS".into()
}

fn print_hop(words: &[String]) -> Result<()> {
    let [way, frame_bytes, rounds] = words else { return Err(usage()) };
    let (frame_bytes, rounds) = (frame_bytes.parse()?, rounds.parse()?);
    let hop_ns = match way.as_str() {
        "ring" => measure(&Plan { rounds, ..Plan::spinning("ring", frame_bytes) })?,
        "ring-blocking" => measure(&Plan { rounds, frame_bytes, ..Plan::blocking() })?,
        "iceoryx2" => measure(&Plan { rounds, ..Plan::spinning("iceoryx2", frame_bytes) })?,
        "futex" => bare_futex(rounds.try_into()?)?,
        _ => return Err(usage()),
    };
    println!("{hop_ns:.1}");
    Ok(())
}

fn bare_futex(rounds: u32) -> Result<f64> {
    // SAFETY: the function forks a child that runs only C code, and waits for it.
    match unsafe { bare_futex_ns(rounds, 0, 0) } {
        ns if ns > 0 => Ok(ns as f64 / f64::from(rounds) / 2.0),
        _ => Err("the bare futex could not be measured (is core 0 allowed?)".into()),
    }
}
