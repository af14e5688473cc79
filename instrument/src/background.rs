//! Produces a background load during a trial, with threads that keep cores busy and copy memory, in short slices for an
//! even load.

use std::hint::black_box;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::error::{Context, Error, Result};
use crate::{affinity, clock};

/// The total length of a slice of work and the pause that follows.
const PERIOD_NS: i64 = 10_000_000;
/// The number of bytes copied between two clock readings.
const CHUNK: usize = 64 << 10;
/// The maximum number of bytes that one thread copies per second. A load with a higher copy rate uses several threads.
const THREAD_BYTES_PER_S: f64 = 1e9;
/// The minimum size of one thread's two blocks together, which exceeds a core's private caches.
const LEAST_BLOCKS: usize = 32 << 20;
/// The total size of all threads' blocks, as a multiple of the last-level cache.
const CACHES: usize = 4;
/// The assumed size of the last-level cache if the kernel does not report the size.
const USUAL_CACHE: usize = 32 << 20;

/// The requested background load.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The cores of the busy threads. One thread is pinned to each core.
    pub cores: Vec<u32>,
    /// The utilization of each core, from 0 to 1.
    pub cpu_share: f64,
    /// The total number of bytes that all threads copy per second.
    pub copy_bytes_per_s: f64,
}

/// The work that the load has done since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    pub at_ns: i64,
    /// The CPU time of the busy threads, without the copying threads.
    pub cpu_ns: i64,
    pub copied_bytes: u64,
}

/// The threads of a background load, which run until this value is dropped.
pub struct Load {
    stop: Arc<AtomicBool>,
    copied_bytes: Arc<AtomicU64>,
    busy: Vec<JoinHandle<()>>,
    copying: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts the threads. When `start` returns, the memory of the load is allocated and mapped.
    ///
    /// # Errors
    ///
    /// Fails if a core is not available, or if a thread cannot be started.
    pub fn start(request: &Request) -> Result<Self> {
        let mut load =
            Self { stop: Arc::default(), copied_bytes: Arc::default(), busy: Vec::new(), copying: Vec::new() };
        let busy_cores = if request.cpu_share > 0.0 { &request.cores[..] } else { &[] };
        for (place, core) in busy_cores.iter().enumerate() {
            let (share, stop) = (request.cpu_share, Arc::clone(&load.stop));
            let periods = Periods::new(place, busy_cores.len());
            load.busy.push(spawn(*core, move || keep_busy(periods, share, &stop))?);
        }
        let copying_cores = &request.cores[..copying_threads(request)];
        for (place, core) in copying_cores.iter().enumerate() {
            let (stop, copied) = (Arc::clone(&load.stop), Arc::clone(&load.copied_bytes));
            let (periods, many) = (Periods::new(place, copying_cores.len()), copying_cores.len());
            let (mut blocks, share) = (Blocks::new(many), request.copy_bytes_per_s / many as f64);
            load.copying.push(spawn(*core, move || copy(periods, &mut blocks, share, &copied, &stop))?);
        }
        Ok(load)
    }

    /// Returns the work that the load has done so far.
    pub fn reading(&self) -> Result<Reading> {
        let cpu_ns = self.busy.iter().map(cpu_time_ns).sum::<Result<i64>>()?;
        Ok(Reading { at_ns: clock::now_ns(), cpu_ns, copied_bytes: self.copied_bytes.load(Ordering::Relaxed) })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.busy.drain(..).chain(self.copying.drain(..)) {
            // A thread that panicked has also ended, so the result of `join` does not matter here.
            let _ = thread.join();
        }
    }
}

/// Returns the number of copying threads: one per requested gigabyte per second, and at most one per core.
fn copying_threads(request: &Request) -> usize {
    ((request.copy_bytes_per_s / THREAD_BYTES_PER_S).ceil() as usize).min(request.cores.len())
}

/// Starts a pinned thread. Also fails if pinning fails.
fn spawn(core: u32, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let (told, pinned) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new()
        .name(format!("load-{core}"))
        .spawn(move || {
            affinity::sharpen_timers();
            let outcome = affinity::pin(core);
            let may_work = outcome.is_ok();
            if told.send(outcome).is_ok() && may_work {
                work();
            }
        })
        .context("starting a thread of the background load")?;
    pinned.recv().map_err(|_| Error::new("a thread of the background load ended early"))??;
    Ok(thread)
}

/// Returns the CPU time of another thread of this process, which must not have been joined.
fn cpu_time_ns(thread: &JoinHandle<()>) -> Result<i64> {
    let mut id: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the thread has not been joined, so its handle is valid. Both pointers refer to local variables.
    let refused = unsafe {
        libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut id) != 0
            || libc::clock_gettime(id, &raw mut time) != 0
    };
    if refused { Err(Error::system("reading the CPU time of a thread")) } else { Ok(nanoseconds(&time)) }
}

fn own_cpu_time_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer refers to a local variable, and this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    nanoseconds(&time)
}

fn nanoseconds(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The periods of one thread. The periods of different threads are staggered, so that not all threads work at once.
struct Periods {
    begin_ns: i64,
}

impl Periods {
    fn new(place: usize, many: usize) -> Self {
        Self { begin_ns: clock::now_ns() + PERIOD_NS * place as i64 / many as i64 }
    }

    /// Sleeps until the next period begins, and returns when that period ends. Periods that passed while the thread did
    /// not run are skipped, not made up for.
    fn next_end(&mut self) -> i64 {
        let late_ns = (clock::now_ns() - self.begin_ns).max(0);
        self.begin_ns += late_ns - late_ns % PERIOD_NS;
        clock::sleep_until(self.begin_ns);
        self.begin_ns += PERIOD_NS;
        self.begin_ns
    }
}

fn keep_busy(mut periods: Periods, share: f64, stop: &AtomicBool) {
    let quota_ns = (share * PERIOD_NS as f64) as i64;
    let mut state = 1;
    while !stop.load(Ordering::Relaxed) {
        let (end_ns, begun_ns) = (periods.next_end(), own_cpu_time_ns());
        while own_cpu_time_ns() - begun_ns < quota_ns && clock::now_ns() < end_ns {
            state = calculate(state);
        }
    }
}

/// Computes for a few microseconds, without memory accesses or system calls.
fn calculate(mut state: u64) -> u64 {
    for _ in 0..2_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state)
}

/// Two blocks of memory. Chunks of the first block are copied to the second, one after another.
struct Blocks {
    from: Vec<u8>,
    to: Vec<u8>,
    at: usize,
}

impl Blocks {
    fn new(threads: usize) -> Self {
        let size = (CACHES * last_level_cache() / threads).max(LEAST_BLOCKS) / 2 / CHUNK * CHUNK;
        Self { from: vec![1; size], to: vec![2; size], at: 0 }
    }

    fn copy_chunk(&mut self) {
        let chunk = self.at..self.at + CHUNK;
        self.to[chunk.clone()].copy_from_slice(black_box(&self.from[chunk]));
        black_box(&mut self.to);
        self.at = (self.at + CHUNK) % self.from.len();
    }
}

fn copy(mut periods: Periods, blocks: &mut Blocks, bytes_per_s: f64, copied: &AtomicU64, stop: &AtomicBool) {
    let quota = bytes_per_s * PERIOD_NS as f64 / 1e9;
    let mut owed = 0.0;
    while !stop.load(Ordering::Relaxed) {
        let end_ns = periods.next_end();
        owed = (owed + quota).min(quota + CHUNK as f64);
        while owed >= CHUNK as f64 && clock::now_ns() < end_ns {
            blocks.copy_chunk();
            owed -= CHUNK as f64;
            copied.fetch_add(CHUNK as u64, Ordering::Relaxed);
        }
    }
}

/// Returns the size in bytes of the first core's largest cache.
fn last_level_cache() -> usize {
    let sizes = (0..8).filter_map(|index| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok()
    });
    sizes.filter_map(|text| parse_size(text.trim())).max().unwrap_or(USUAL_CACHE)
}

/// Parses a size as the kernel writes it, such as `32768K` or `32M`.
fn parse_size(text: &str) -> Option<usize> {
    let (number, unit) = text.split_at(text.len().checked_sub(1)?);
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    Some(number.parse::<usize>().ok()? << shift)
}

#[cfg(test)]
mod tests;
