//! Reads hopmeter's only clock, CLOCK_MONOTONIC in nanoseconds, which all processes of this host share.

use std::mem::MaybeUninit;

/// Returns the current time, in nanoseconds since the host started.
#[inline]
pub fn now_ns() -> i64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer refers to writable memory of the right type, and CLOCK_MONOTONIC cannot fail on Linux.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Sleeps until an absolute time. Signals do not end the sleep.
pub fn sleep_until(deadline_ns: i64) {
    let until = libc::timespec { tv_sec: deadline_ns / 1_000_000_000, tv_nsec: deadline_ns % 1_000_000_000 };
    // SAFETY: `until` is a valid timespec, and the call does not store the remaining time.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// Spins until an absolute time. Returns the first clock reading that is not before `deadline_ns`.
#[inline]
pub fn spin_until(deadline_ns: i64) -> i64 {
    loop {
        let now = now_ns();
        if now >= deadline_ns {
            return now;
        }
        std::hint::spin_loop();
    }
}

/// The minimum gap between two readings that shows that the spinning thread was interrupted.
const AWAY_NS: i64 = 10_000;

/// Spins until an absolute time. Returns the CPU time that the thread has spent spinning since `begun_ns`. Time for
/// which the kernel or the hypervisor ran something else on the core is excluded.
#[inline]
pub fn spin_until_counting(deadline_ns: i64, begun_ns: i64) -> i64 {
    let (mut before_ns, mut away_ns) = (begun_ns, 0);
    loop {
        let now_ns = now_ns();
        let step_ns = now_ns - before_ns;
        away_ns += if step_ns > AWAY_NS { step_ns } else { 0 };
        if now_ns >= deadline_ns {
            return now_ns - begun_ns - away_ns;
        }
        before_ns = now_ns;
        std::hint::spin_loop();
    }
}

/// The measured cost and resolution of the clock on this machine.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct ClockQuality {
    /// The time of one reading in nanoseconds, as the median of many batches.
    pub cost_ns: f64,
    /// The smallest difference observed between two consecutive unequal readings.
    pub resolution_ns: i64,
}

/// Measures the cost of a clock reading and the clock resolution. Takes a few milliseconds.
pub fn measure_quality() -> ClockQuality {
    const BATCH: i64 = 1000;
    let mut costs: Vec<f64> = (0..50).map(|_| batch_cost(BATCH)).collect();
    costs.sort_by(f64::total_cmp);
    let resolution_ns = (0..2000).filter_map(|_| step()).min().unwrap_or(i64::MAX);
    ClockQuality { cost_ns: costs[costs.len() / 2], resolution_ns }
}

fn batch_cost(readings: i64) -> f64 {
    let begin = now_ns();
    for _ in 0..readings {
        std::hint::black_box(now_ns());
    }
    (now_ns() - begin) as f64 / readings as f64
}

fn step() -> Option<i64> {
    let (first, second) = (now_ns(), now_ns());
    (second > first).then_some(second - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_the_core_counts_as_spun() {
        let begun_ns = now_ns();
        let spun_ns = spin_until_counting(begun_ns + 5_000_000, begun_ns);
        let most_ns = now_ns() - begun_ns;
        assert!(spun_ns > 0 && spun_ns <= most_ns, "{spun_ns} of {most_ns}");
    }

    fn cpu_time_ns() -> i64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer refers to a local timespec.
        assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Two threads spin on one core, so the kernel preempts each of them repeatedly.
    #[test]
    fn time_that_another_thread_has_the_core_does_not_count() {
        let spin = || {
            crate::affinity::pin(0).expect("there is a core 0");
            let (before_ns, begun_ns) = (cpu_time_ns(), now_ns());
            let spun_ns = spin_until_counting(begun_ns + 300_000_000, begun_ns);
            (spun_ns, cpu_time_ns() - before_ns)
        };
        let pairs = std::thread::scope(|scope| [scope.spawn(spin), scope.spawn(spin)].map(|one| one.join().unwrap()));
        for (spun_ns, used_ns) in pairs {
            assert!(used_ns < 250_000_000, "the two shared the core: {used_ns}");
            assert!(spun_ns <= used_ns + used_ns / 100, "{spun_ns} counted of {used_ns} used");
            assert!(spun_ns > used_ns / 2, "{spun_ns} counted of {used_ns} used");
        }
    }

    #[test]
    fn time_away_from_the_core_does_not() {
        let begun_ns = now_ns() - 50_000_000;
        assert_eq!(spin_until_counting(begun_ns + 10_000_000, begun_ns), 0);
    }
}
