//! Measures round trips between this process and another process that sends each frame back, over the ring or iceoryx2.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{Result, iceoryx, ring};

/// How often a spinning receiver checks for one frame before it gives up, which is after a few seconds.
const MOST_LOOKS: u32 = 1 << 28;
const MOST_NAPS: u32 = 100;

/// A link end, which sends and receives numbered frames of a fixed length.
pub trait End {
    fn send(&mut self, number: u64) -> Result<()>;
    /// Returns the number of the next frame, if a frame has arrived.
    fn look(&mut self) -> Result<Option<u64>>;
    /// Sleeps until a frame arrives, for at most a tenth of a second; used only for blocking link ends.
    fn sleep(&mut self) {}
}

/// Waits for the next frame and returns its number, or an error if no frame arrives.
fn next(end: &mut dyn End, blocks: bool) -> Result<u64> {
    for _ in 0..if blocks { MOST_NAPS } else { MOST_LOOKS } {
        if let Some(number) = end.look()? {
            return Ok(number);
        }
        if blocks {
            end.sleep();
        }
    }
    Err("the other process has not answered for seconds".into())
}

/// The transport to measure, and how to measure it.
#[derive(Clone)]
pub struct Plan {
    pub transport: &'static str,
    pub blocks: bool,
    pub frame_bytes: usize,
    pub rounds: u64,
    pub cores: [usize; 2],
}

impl Plan {
    pub fn spinning(transport: &'static str, frame_bytes: usize) -> Self {
        Self { transport, blocks: false, frame_bytes, rounds: 100_000, cores: [0, 1] }
    }

    pub fn blocking() -> Self {
        Self { transport: "ring", blocks: true, frame_bytes: 64, rounds: 50_000, cores: [0, 0] }
    }

    fn words(&self) -> [String; 6] {
        let [here, there] = self.cores;
        let numbers = [usize::from(self.blocks), self.frame_bytes, self.all() as usize, here, there];
        let [blocks, frame, rounds, here, there] = numbers.map(|number| number.to_string());
        [self.transport.to_owned(), blocks, frame, rounds, here, there]
    }

    fn from_words(words: &[String]) -> Result<Self> {
        let [transport, numbers @ ..] = words else { return Err("echo what?".into()) };
        let transport = if transport == "ring" { "ring" } else { "iceoryx2" };
        let numbers = numbers.iter().map(|word| word.parse()).collect::<std::result::Result<Vec<usize>, _>>()?;
        let [blocks, frame_bytes, rounds, here, there] = numbers[..] else { return Err("echo how?".into()) };
        Ok(Self { transport, blocks: blocks == 1, frame_bytes, rounds: rounds as u64, cores: [here, there] })
    }

    fn warm(&self) -> u64 {
        self.rounds / 10
    }

    fn all(&self) -> u64 {
        self.rounds + self.warm()
    }
}

/// Returns the time of one hop in nanoseconds, which is half a round trip.
pub fn measure(plan: &Plan) -> Result<f64> {
    pin(plan.cores[0])?;
    let mut echo = Command::new(std::env::current_exe()?)
        .arg("echo")
        .args(plan.words())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = echo.stdin.take().ok_or("no pipe to the echo")?;
    let mut from = BufReader::new(echo.stdout.take().ok_or("no pipe from the echo")?);
    let mut end = open(plan, "ping", "pong", &mut to, &mut from)?;
    let took = round_trips(plan, end.as_mut());
    drop(to);
    let status = echo.wait()?;
    match took {
        Ok(ns) if status.success() => Ok(ns),
        Ok(_) => Err(format!("the echo of {} failed", plan.transport).into()),
        Err(error) => Err(error),
    }
}

fn round_trips(plan: &Plan, end: &mut dyn End) -> Result<f64> {
    let mut start = Instant::now();
    for number in 0..plan.all() {
        if number == plan.warm() {
            start = Instant::now();
        }
        end.send(number)?;
        if next(end, plan.blocks)? != number {
            return Err(format!("{} gave back another frame than {number}", plan.transport).into());
        }
    }
    Ok(start.elapsed().as_nanos() as f64 / plan.rounds as f64 / 2.0)
}

/// Runs the other process, which sends back the number of every frame.
pub fn echo(words: &[String]) -> Result<()> {
    let plan = Plan::from_words(words)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    pin(plan.cores[1])?;
    let (mut to, mut from) = (std::io::stdout(), BufReader::new(std::io::stdin()));
    let mut end = open(&plan, "pong", "ping", &mut to, &mut from)?;
    for _ in 0..plan.rounds {
        let number = next(end.as_mut(), plan.blocks)?;
        end.send(number)?;
    }
    // Waits until the other side has read the last frame and closed its pipe.
    from.read_to_end(&mut Vec::new())?;
    Ok(())
}

fn open(plan: &Plan, sends: &str, receives: &str, to: &mut dyn Write, from: &mut dyn BufRead) -> Result<Box<dyn End>> {
    if plan.transport == "ring" {
        return Ok(Box::new(ring::Ring::open(plan, sends, receives, to, from)?));
    }
    Ok(Box::new(iceoryx::Iceoryx::open(plan, sends, receives, to, from)?))
}

/// Sends a line of text to the other process, and returns that process's one-line answer.
pub fn exchange(word: &str, to: &mut dyn Write, from: &mut dyn BufRead) -> Result<String> {
    writeln!(to, "{word}")?;
    to.flush()?;
    let mut answer = String::new();
    if from.read_line(&mut answer)? == 0 {
        return Err("the other process has ended".into());
    }
    Ok(answer.trim().to_owned())
}

fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}
