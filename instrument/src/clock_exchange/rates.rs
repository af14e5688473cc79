//! Records the state of this host's clock: how fast CLOCK_MONOTONIC runs compared with the hardware counter, and which
//! corrections the kernel applies.

use std::mem::MaybeUninit;

use serde::Serialize;

/// A reading of CLOCK_MONOTONIC_RAW between two readings of CLOCK_MONOTONIC. Of several attempts, the function uses the
/// reading that is enclosed most closely.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ClockReading {
    pub monotonic_ns: i64,
    /// The hardware counter's time, which no program corrects.
    pub raw_ns: i64,
    /// The time between the two readings of CLOCK_MONOTONIC.
    pub bracket_ns: i64,
    /// The kernel's corrections, or `None` if the system does not allow reading them.
    pub kernel: Option<KernelClock>,
}

/// How the kernel corrects its clock on behalf of NTP, PTP or chrony (adjtimex).
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct KernelClock {
    /// The correction of the frequency, in parts per billion.
    pub frequency_ppb: i64,
    pub tick_us: i64,
    pub status: i32,
    pub is_synchronised: bool,
    pub maximum_error_us: i64,
    pub estimated_error_us: i64,
}

/// The number of attempts to read two clocks close together.
const ATTEMPTS: usize = 5;
/// The number of `timex.freq` units per part per million.
const FREQUENCY_UNIT: i64 = 1 << 16;

/// Reads the clocks of this host.
pub fn read_clocks() -> ClockReading {
    let (monotonic_ns, raw_ns, bracket_ns) = read_together(libc::CLOCK_MONOTONIC_RAW);
    ClockReading { monotonic_ns, raw_ns, bracket_ns, kernel: read_kernel_clock() }
}

/// Reads CLOCK_MONOTONIC and another clock as simultaneously as possible. Returns the midpoint of two readings of
/// CLOCK_MONOTONIC, the other clock's time, and the time between the two readings.
pub fn read_together(other: libc::clockid_t) -> (i64, i64, i64) {
    let attempt = |_| {
        let (before_ns, other_ns, after_ns) = (read(libc::CLOCK_MONOTONIC), read(other), read(libc::CLOCK_MONOTONIC));
        (before_ns + (after_ns - before_ns) / 2, other_ns, after_ns - before_ns)
    };
    (0..ATTEMPTS).map(attempt).min_by_key(|(_, _, bracket_ns)| *bracket_ns).unwrap_or_default()
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer refers to a local timespec, and the clocks that this module reads exist on Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn read_kernel_clock() -> Option<KernelClock> {
    let mut state = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: an all-zero timex is valid. With empty `modes`, the call changes nothing, and the
    // kernel fills in the other fields.
    let (answer, state) = unsafe { (libc::adjtimex(state.as_mut_ptr()), state.assume_init()) };
    (answer >= 0).then(|| KernelClock {
        frequency_ppb: state.freq * 1000 / FREQUENCY_UNIT,
        tick_us: state.tick,
        status: state.status,
        is_synchronised: answer != libc::TIME_ERROR,
        maximum_error_us: state.maxerror,
        estimated_error_us: state.esterror,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_advance_at_nearly_the_same_rate() {
        let before = read_clocks();
        crate::clock::sleep_until(crate::clock::now_ns() + 20_000_000);
        let after = read_clocks();
        let (ours_ns, raw_ns) = (after.monotonic_ns - before.monotonic_ns, after.raw_ns - before.raw_ns);
        assert!(ours_ns >= 20_000_000, "{ours_ns}");
        assert!((ours_ns - raw_ns).abs() <= ours_ns / 5 + before.bracket_ns + after.bracket_ns, "{before:?} {after:?}");
    }
}
