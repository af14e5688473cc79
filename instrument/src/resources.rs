//! Measures the resources that a process uses during the measured interval.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::clock;
use crate::sync::lock;

/// The resources that one process uses from its first measured message until its last endpoint has finished measuring.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct Resources {
    pub interval_ns: i64,
    pub user_us: i64,
    pub system_us: i64,
    pub voluntary_switches: i64,
    pub involuntary_switches: i64,
    pub minor_faults: i64,
    pub major_faults: i64,
    /// The process's peak resident set size since the measurement began, or since the process started if the kernel
    /// cannot reset the peak.
    pub rss_peak_bytes: u64,
    /// The bytes that the loopback device received during the measured interval, from any sender.
    pub loopback_bytes: u64,
    /// The bytes of shared memory that are mapped at the end of the measurement, by mapping name.
    pub shared_mappings: Vec<(String, u64)>,
}

/// Reads the resource counters at the start and at the end of a measurement. All endpoints of a node share the meter.
/// The first call of `begin` starts the meter.
#[derive(Default)]
pub struct Meter {
    begun: AtomicBool,
    first: Mutex<Option<Reading>>,
}

#[derive(Clone, Copy)]
struct Reading {
    at_ns: i64,
    usage: libc::rusage,
    loopback_bytes: u64,
}

impl Meter {
    /// Starts measuring. A call on a meter that has already started costs almost nothing.
    #[inline]
    pub fn begin(&self) {
        if !self.begun.load(Ordering::Relaxed) {
            self.begin_once();
        }
    }

    #[cold]
    fn begin_once(&self) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            // Resets the peak resident set size. An old kernel refuses the reset, and reports the peak since the
            // process started.
            let _ = std::fs::write("/proc/self/clear_refs", "5");
            *lock(&self.first) = Some(Reading::now());
        }
    }

    /// Returns the resources used since the meter started; all values are zero if the meter never started.
    pub fn end(&self) -> Resources {
        let first = *lock(&self.first);
        first.map(|first| Reading::now().difference_from(&first)).unwrap_or_default()
    }
}

impl Reading {
    fn now() -> Self {
        // SAFETY: getrusage fills the zeroed struct that is passed.
        let usage = unsafe {
            let mut usage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        Self { at_ns: clock::now_ns(), usage, loopback_bytes: loopback_bytes() }
    }

    fn difference_from(&self, first: &Self) -> Resources {
        let (now, then) = (&self.usage, &first.usage);
        Resources {
            interval_ns: self.at_ns - first.at_ns,
            user_us: microseconds(now.ru_utime) - microseconds(then.ru_utime),
            system_us: microseconds(now.ru_stime) - microseconds(then.ru_stime),
            voluntary_switches: now.ru_nvcsw - then.ru_nvcsw,
            involuntary_switches: now.ru_nivcsw - then.ru_nivcsw,
            minor_faults: now.ru_minflt - then.ru_minflt,
            major_faults: now.ru_majflt - then.ru_majflt,
            rss_peak_bytes: rss_peak_bytes(),
            loopback_bytes: self.loopback_bytes.saturating_sub(first.loopback_bytes),
            shared_mappings: shared_mappings(),
        }
    }
}

fn microseconds(time: libc::timeval) -> i64 {
    time.tv_sec * 1_000_000 + time.tv_usec
}

/// Returns the number of bytes that the loopback device of this network namespace has received since the device was
/// brought up. Returns 0 if there is no loopback device.
fn loopback_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let counters = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
    counters.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn rss_peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    kib.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Returns the ten largest shared mappings by name, largest first. The mappings show whether large payloads travelled
/// through shared memory.
fn shared_mappings() -> Vec<(String, u64)> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut sums = std::collections::BTreeMap::<String, u64>::new();
    for (name, bytes) in text.lines().filter_map(shared_mapping) {
        *sums.entry(name).or_default() += bytes;
    }
    let mut mappings: Vec<_> = sums.into_iter().collect();
    mappings.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    mappings.truncate(10);
    mappings
}

/// Parses one mapping, a line `start-end perms offset device inode path`. The permissions end in `s` for shared memory.
fn shared_mapping(line: &str) -> Option<(String, u64)> {
    let mut words = line.split_whitespace();
    let (range, permissions) = (words.next()?, words.next()?);
    let path = words.nth(3)?;
    if !permissions.ends_with('s') || !(path.starts_with("/dev/shm/") || path.starts_with("/memfd:")) {
        return None;
    }
    let (first, end) = range.split_once('-')?;
    let bytes = u64::from_str_radix(end, 16).ok()? - u64::from_str_radix(first, 16).ok()?;
    Some((path.to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_stretch_is_seen_as_cpu_time() {
        let meter = Meter::default();
        meter.begin();
        clock::spin_until(clock::now_ns() + 50_000_000);
        let used = meter.end();
        assert!(used.interval_ns >= 50_000_000);
        assert!(used.user_us + used.system_us > 10_000, "{used:?}");
        assert!(used.rss_peak_bytes > 0);
    }

    #[test]
    fn loopback_traffic_is_counted() {
        use std::net::UdpSocket;
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let meter = Meter::default();
        meter.begin();
        receiver.send_to(&[0; 10_000], receiver.local_addr().expect("an address")).expect("sent");
        assert!(meter.end().loopback_bytes >= 10_000);
    }

    #[test]
    fn shared_memory_is_recognised_in_the_map() {
        let line = "7f00-8f00 rw-s 00000000 00:01 42 /memfd:ring (deleted)";
        assert_eq!(shared_mapping(line), Some(("/memfd:ring".to_owned(), 0x1000)));
        assert_eq!(shared_mapping("7f00-8f00 rw-p 00000000 00:01 42 /dev/shm/x"), None);
    }
}
