//! Reads the kernel's performance counters for a thread before and after each message, to show why a message was slow.
//!
//! Each reading takes three system calls, so roles take readings only if the spec names a file for them. Specs of
//! ranked trials name no such file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::error::{Context, Result};
use crate::recorder::NONE_NS;
use crate::spec::{Endpoint, Flow};

/// The first bytes of the file, which identify its format.
const MAGIC: &[u8; 8] = b"HMTHREAD";
/// The offset of the first reading in the file.
const HEAD_BYTES: usize = 64;
/// The `seq` of a reading for a warm-up message or a probe.
const NO_SEQ: u64 = u64::MAX;
/// The maximum number of readings per message. Most roles take two readings per message (arrived and done, or send and
/// sent), and a client takes all four.
const READINGS_PER_MESSAGE: u64 = 4;

/// The point at which a thread took a reading.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The thread has waited until the message is due, and is about to send the message.
    Send = 0,
    /// The transport's send call has returned.
    Sent = 1,
    /// The thread has waited for a message, and a message has arrived.
    Arrived = 2,
    /// The thread has finished handling the message.
    Done = 3,
}

/// One reading of the counters. All counters are 0 when the thread starts, and never decrease.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub seq: u64,
    pub at_ns: i64,
    /// The thread's CPU time, without the time that the hypervisor gave to other machines.
    pub cpu_ns: i64,
    /// The time for which the thread was ready to run but did not run, or [`NONE_NS`] if the kernel does not count this
    /// time.
    pub queued_ns: i64,
    pub thread: u32,
    pub mark: Mark,
    pub minor_faults: u32,
    pub major_faults: u32,
    pub voluntary_switches: u32,
    pub involuntary_switches: u32,
    unused: u64,
}

/// The readings of one endpoint, ordered by time. Only one thread at a time uses the endpoint's log.
pub struct ThreadLog {
    readings: Vec<Reading>,
    endpoint: u32,
    left_out: u64,
    path: PathBuf,
}

impl ThreadLog {
    /// Creates an endpoint's log, or returns `None` if the endpoint's spec names no file. Touches the log's memory, so
    /// that no page faults occur later.
    pub fn new(me: &Endpoint, flow: &Flow) -> Option<Box<Self>> {
        let path = me.readings.clone()?;
        let messages = flow.messages.saturating_add(flow.warmup);
        let capacity = messages.saturating_mul(READINGS_PER_MESSAGE).saturating_add(1024) as usize;
        let mut readings = vec![Reading::now(NO_SEQ, Mark::Done, NONE_NS); capacity];
        readings.clear();
        Some(Box::new(Self { readings, endpoint: me.id, left_out: 0, path }))
    }

    /// Takes a reading for the sample `seq`, or for a message that is not a sample if `seq` is `None`. `at_ns` is the
    /// time at which the thread reached the given point.
    pub fn read(&mut self, seq: Option<u64>, mark: Mark, at_ns: i64) {
        if self.readings.len() == self.readings.capacity() {
            self.left_out += 1;
            return;
        }
        self.readings.push(Reading::now(seq.unwrap_or(NO_SEQ), mark, at_ns));
    }

    /// Writes the file: a header, then the readings.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn finish(self) -> Result<()> {
        let mut bytes = vec![0; HEAD_BYTES];
        bytes[0..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
        bytes[12..16].copy_from_slice(&(size_of::<Reading>() as u32).to_le_bytes());
        bytes[16..20].copy_from_slice(&self.endpoint.to_le_bytes());
        bytes[24..32].copy_from_slice(&(self.readings.len() as u64).to_le_bytes());
        bytes[32..40].copy_from_slice(&self.left_out.to_le_bytes());
        // SAFETY: Reading has no padding, and all readings are initialised.
        bytes.extend_from_slice(unsafe {
            std::slice::from_raw_parts(self.readings.as_ptr().cast::<u8>(), size_of_val(self.readings.as_slice()))
        });
        std::fs::write(&self.path, bytes).context(format!("writing thread readings to {}", self.path.display()))
    }
}

impl Reading {
    fn now(seq: u64, mark: Mark, at_ns: i64) -> Self {
        let (thread, queued_ns) = COUNTERS.with(|counters| (counters.thread, counters.queued_ns()));
        let usage = thread_usage();
        Self {
            seq,
            at_ns,
            cpu_ns: cpu_time_ns(),
            queued_ns,
            thread,
            mark,
            minor_faults: usage.ru_minflt as u32,
            major_faults: usage.ru_majflt as u32,
            voluntary_switches: usage.ru_nvcsw as u32,
            involuntary_switches: usage.ru_nivcsw as u32,
            unused: 0,
        }
    }
}

thread_local! {
    static COUNTERS: Counters = Counters::open();
}

/// The id of a thread, and the kernel's scheduling counters for the thread.
struct Counters {
    thread: u32,
    schedstat: Option<File>,
}

impl Counters {
    fn open() -> Self {
        // SAFETY: gettid has no arguments and cannot fail.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        Self { thread, schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    fn queued_ns(&self) -> i64 {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        length.and_then(|length| run_queue_wait_ns(&text[..length])).unwrap_or(NONE_NS)
    }
}

/// Parses the second number of a schedstat line: `run time`, `run-queue wait`, `timeslices`. Returns `None` if the
/// kernel does not count these times; the line then contains only zeros.
fn run_queue_wait_ns(line: &[u8]) -> Option<i64> {
    let mut numbers = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(parse_number);
    let (run_ns, queued_ns, slices) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (run_ns != 0 || slices != 0).then_some(queued_ns)
}

fn parse_number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn cpu_time_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer refers to a local timespec, and this clock exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn thread_usage() -> libc::rusage {
    // SAFETY: getrusage fills the zeroed struct that it receives.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{affinity, clock};

    fn now() -> Reading {
        Reading::now(0, Mark::Done, clock::now_ns())
    }

    /// Returns how the thread spent its time while `act` ran: the CPU time, the run-queue wait, and the remaining time.
    fn passing(act: impl FnOnce()) -> (i64, i64, i64) {
        let before = now();
        act();
        let after = now();
        let (cpu_ns, queued_ns) = (after.cpu_ns - before.cpu_ns, after.queued_ns - before.queued_ns);
        (cpu_ns, queued_ns, after.at_ns - before.at_ns - cpu_ns - queued_ns)
    }

    #[test]
    fn a_sleep_is_neither_cpu_time_nor_waiting_for_a_core() {
        let (cpu_ns, _, rest_ns) = passing(|| std::thread::sleep(std::time::Duration::from_millis(50)));
        assert!(rest_ns >= 49_000_000, "{rest_ns}");
        assert!(cpu_ns < 20_000_000, "{cpu_ns}");
    }

    /// Two threads share one core, so each of them runs half of the time and waits for the core the other half.
    #[test]
    fn two_threads_on_one_core_wait_for_it() {
        if now().queued_ns == NONE_NS {
            return;
        }
        let spin = || {
            affinity::pin(0).expect("there is a core 0");
            passing(|| {
                clock::spin_until(clock::now_ns() + 300_000_000);
            })
        };
        let both = std::thread::scope(|scope| [scope.spawn(spin), scope.spawn(spin)].map(|one| one.join().unwrap()));
        for (cpu_ns, queued_ns, _) in both {
            assert!(queued_ns > 50_000_000, "{queued_ns} of waiting, {cpu_ns} of running");
            assert!(cpu_ns + queued_ns <= 400_000_000, "{queued_ns} of waiting, {cpu_ns} of running");
        }
    }

    #[test]
    fn the_first_touch_of_memory_is_a_page_fault() {
        let bytes = 64 << 12;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
        let before = now();
        for page in 0..64 {
            unsafe { memory.cast::<u8>().add(page << 12).write_volatile(1) };
        }
        assert!(now().minor_faults - before.minor_faults >= 64);
        unsafe { libc::munmap(memory, bytes) };
    }

    #[test]
    fn a_kernel_without_the_counter_gives_none() {
        assert_eq!(run_queue_wait_ns(b"540072757 165888 77\n"), Some(165_888));
        assert_eq!(run_queue_wait_ns(b"0 0 1\n"), Some(0));
        assert_eq!(run_queue_wait_ns(b"0 0 0\n"), None);
        assert_eq!(run_queue_wait_ns(b""), None);
    }

    #[test]
    fn the_file_holds_the_readings_that_fit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0.readings");
        let readings = Vec::with_capacity(2);
        let mut log = ThreadLog { readings, endpoint: 7, left_out: 0, path: path.clone() };
        for seq in 0..3 {
            log.read(Some(seq), Mark::Arrived, 100 + seq as i64);
        }
        log.finish().expect("written");
        let bytes = std::fs::read(&path).expect("the file");
        assert_eq!((&bytes[0..8], bytes[16], bytes[24], bytes[32]), (&MAGIC[..], 7, 2, 1));
        assert_eq!(bytes.len(), HEAD_BYTES + 2 * size_of::<Reading>());
        assert_eq!(bytes[HEAD_BYTES + 64 + 8], 101, "the time of the second reading");
    }
}
