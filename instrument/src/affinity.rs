//! Configures how threads run: the core they are pinned to, their priority (SCHED_FIFO), locked memory, and cores
//! without idle states.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;

use crate::error::{Context, Error, Result};

/// Pins the calling thread, and all threads that this thread starts later, to one core.
///
/// # Errors
///
/// Fails if the core does not exist, or if this process may not use it.
pub fn pin(core: u32) -> Result<()> {
    pin_among(&[core])
}

/// Restricts the calling thread, and all threads that this thread starts later, to the given cores. An empty list means
/// no restriction.
///
/// # Errors
///
/// Fails if this process may use none of the cores.
pub fn pin_among(cores: &[u32]) -> Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    // SAFETY: `set` is a plain bit set of the given size; CPU_SET ignores core numbers beyond that size.
    let refused = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for core in cores {
            libc::CPU_SET(*core as usize, &mut set);
        }
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set)
    };
    match refused {
        0 => Ok(()),
        _ => Err(Error::system(format!("pinning to core {}", list(cores)))
            .remedy("choose cores that this process may use (`taskset -p $$` shows them)")),
    }
}

fn list(cores: &[u32]) -> String {
    cores.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Gives real-time priority (SCHED_FIFO) to the calling thread and to all threads that this thread starts later.
pub fn go_real_time(priority: u32) -> Result<()> {
    let parameter = libc::sched_param { sched_priority: priority as i32 };
    // SAFETY: the parameter is valid during the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) } {
        0 => Ok(()),
        _ => Err(Error::system(format!("taking SCHED_FIFO priority {priority}"))
            .remedy("run as root, raise the limit `rtprio` in /etc/security/limits.conf, or omit fifo")),
    }
}

/// Locks all current and future memory of this process in RAM.
pub fn lock_memory() -> Result<()> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } {
        0 => Ok(()),
        _ => Err(Error::system("locking memory (mlockall)")
            .remedy("raise the limit `memlock` (`ulimit -l unlimited`), or omit `mlock`")),
    }
}

/// Keeps idle cores out of idle states until this process ends. The kernel limits the wake-up latency to 0 us as long
/// as a process has /dev/cpu_dma_latency open. The kernel closes the file when the process ends, even after a crash.
pub fn stay_awake() -> Result<()> {
    static HELD: OnceLock<File> = OnceLock::new();
    let held = request_latency("/dev/cpu_dma_latency")?;
    HELD.get_or_init(|| held);
    Ok(())
}

fn request_latency(bound: &str) -> Result<File> {
    let held = OpenOptions::new().write(true).open(bound).and_then(|mut bound| {
        bound.write_all(&0_i32.to_ne_bytes())?;
        Ok(bound)
    });
    held.context(format!("keeping cores awake ({bound})")).map_err(|error| {
        error.remedy("run as root, give this user the right to write that file, or omit `no_idle_states`")
    })
}

/// Makes this thread's timers as precise as the kernel allows. By default, a timer may fire up to 50 us late. Threads
/// that this thread starts later inherit the precise timers. Threads that were started before this call keep the
/// default, like the threads of any other program.
pub fn sharpen_timers() {
    thread_local!(static SHARP: Cell<bool> = const { Cell::new(false) });
    if !SHARP.replace(true) {
        // SAFETY: the call takes no pointers. If the kernel refuses, timers are less precise, and the pacing error
        // shows the lost precision.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    }
}

/// Ends this process when its parent ends. Closing the control channel normally ends the node, but not if the node
/// hangs.
pub fn die_with_parent() {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_does_not_exist_is_an_error_with_a_remedy() {
        let error = pin(1000).expect_err("there is no core 1000");
        assert!(error.to_string().contains("core 1000"), "{error}");
        assert!(error.remedy_text().is_some());
    }

    #[test]
    fn where_cores_may_not_be_kept_awake_the_remedy_is_told() {
        let error = request_latency("/dev/there/is/no/such/bound").expect_err("it is not there");
        assert!(error.to_string().contains("keeping cores awake"), "{error}");
        assert!(error.remedy_text().is_some_and(|remedy| remedy.contains("omit `no_idle_states`")));
    }
}
