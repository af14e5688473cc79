//! Waits until a given time: sleeps until shortly before this time, then spins.

use crate::{affinity, clock};

/// How long an alarm spins before a due time until it has measured the delay of its first sleep.
const FIRST_NS: i64 = 100_000;
/// The maximum spinning time. Only the scheduler or the hypervisor causes delays that are longer than this limit, and
/// longer spinning does not help against them.
const MOST_NS: i64 = 250_000;

/// Sleeps, then spins until the due time, and measures the time spent spinning.
#[derive(Clone, Debug)]
pub struct Alarm {
    stretch: Stretch,
    spun_ns: i64,
}

impl Alarm {
    /// Creates an alarm that spins for `spin_ns` before each due time, or never if `spin_ns` is 0. If `spin_ns` is
    /// `None`, the alarm learns the spinning time from the wake-up delays on this machine.
    pub fn new(spin_ns: Option<i64>) -> Self {
        Self { stretch: spin_ns.map_or(Stretch::Learned(FIRST_NS), Stretch::Told), spun_ns: 0 }
    }

    /// Waits until the clock reaches `due_ns`.
    pub fn wait_until(&mut self, due_ns: i64) {
        let stretch_ns = self.stretch.ns();
        let begun_ns = self.sleep_until(due_ns - stretch_ns);
        if stretch_ns > 0 {
            self.spun_ns += clock::spin_until_counting(due_ns, begun_ns);
        }
    }

    /// Sleeps until `wake_ns`, or not at all if that time has passed. Returns the time at which the thread continued.
    fn sleep_until(&mut self, wake_ns: i64) -> i64 {
        let now_ns = clock::now_ns();
        if wake_ns <= now_ns {
            return now_ns;
        }
        affinity::sharpen_timers();
        clock::sleep_until(wake_ns);
        let woke_ns = clock::now_ns();
        self.stretch.learn(woke_ns - wake_ns);
        woke_ns
    }

    /// Returns the CPU time spent spinning so far, which counts as CPU time of the instrument, not of the transport.
    pub fn spun_ns(&self) -> i64 {
        self.spun_ns
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stretch {
    Told(i64),
    Learned(i64),
}

impl Stretch {
    fn ns(self) -> i64 {
        match self {
            Self::Told(ns) | Self::Learned(ns) => ns,
        }
    }

    /// Raises the spinning time fast and lowers it slowly, so that the spinning time exceeds about nine of ten wake-up
    /// delays.
    fn learn(&mut self, late_ns: i64) {
        let Self::Learned(ns) = self else { return };
        let off_ns = late_ns.clamp(0, MOST_NS) - *ns;
        *ns += if off_ns > 0 { off_ns / 4 } else { off_ns / 32 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_never_ends_before_its_time() {
        for spin_ns in [None, Some(0), Some(100_000)] {
            let due_ns = clock::now_ns() + 2_000_000;
            Alarm::new(spin_ns).wait_until(due_ns);
            assert!(clock::now_ns() >= due_ns, "{spin_ns:?}");
        }
    }

    #[test]
    fn without_a_stretch_it_never_spins_and_within_one_it_never_sleeps() {
        let (mut sleeper, mut spinner) = (Alarm::new(Some(0)), Alarm::new(Some(1_000_000_000)));
        let due_ns = clock::now_ns() + 2_000_000;
        sleeper.wait_until(due_ns);
        assert_eq!(sleeper.spun_ns(), 0);
        let begun_ns = clock::now_ns();
        spinner.wait_until(begun_ns + 500_000);
        assert!((1..=clock::now_ns() - begun_ns).contains(&spinner.spun_ns()), "{}", spinner.spun_ns());
    }

    #[test]
    fn a_learned_stretch_covers_nine_late_sleeps_in_ten_and_no_more() {
        let mut stretch = Stretch::Learned(FIRST_NS);
        let mut covered = 0;
        for index in 0..10_000_i64 {
            // Wake-up delays from 20 to 80 us, evenly distributed.
            let late_ns = 20_000 + index * 7919 % 60_000;
            covered += i32::from(late_ns <= stretch.ns());
            stretch.learn(late_ns);
        }
        assert!((7_000..9_500).contains(&covered), "{covered}");
        assert!((60_000..80_000).contains(&stretch.ns()), "{stretch:?}");
    }

    #[test]
    fn only_a_thread_that_sleeps_here_has_sharp_timers() {
        // SAFETY: the call takes no pointers.
        let slack = || unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        let slept = std::thread::spawn(move || {
            let before = slack();
            Alarm::new(None).wait_until(clock::now_ns() + 1_000_000);
            (before, slack())
        });
        let (before, after) = slept.join().unwrap();
        assert!(before > 1, "{before}");
        assert_eq!(after, 1);
    }

    #[test]
    fn one_wake_up_that_took_very_long_does_not_make_it_spin_for_ever() {
        let mut stretch = Stretch::Learned(FIRST_NS);
        stretch.learn(50_000_000);
        assert!(stretch.ns() < MOST_NS);
        (0..200).for_each(|_| stretch.learn(30_000));
        assert!(stretch.ns() < 35_000, "{stretch:?}");
    }

    #[test]
    fn a_stretch_that_was_told_stays() {
        let mut stretch = Stretch::Told(10);
        stretch.learn(1_000_000);
        assert_eq!(stretch, Stretch::Told(10));
    }
}
