//! Measures the cost of the instrument itself.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clock;
use crate::error::Result;
use crate::recorder::{Record, Recorder};

const BATCHES: usize = 50;
const BATCH: u64 = 2_000;
/// The size in bytes of the copied block: that of a large image, for which the cost of a copy matters.
const BLOCK: usize = 6_000_000;
const COPIES: usize = 9;

/// The measured costs. Each value is the median of many batches.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Cost {
    /// The time of one clock reading, in nanoseconds.
    pub clock_ns: f64,
    /// The time to record one message, in nanoseconds: two clock readings and one record.
    pub message_ns: f64,
    /// The copy rate of one core in bytes per nanosecond (10^9 bytes per second), for blocks of several megabytes.
    pub copy_bytes_per_ns: f64,
}

/// Measures the costs, which takes a few milliseconds and a temporary file of several megabytes in `directory`.
///
/// # Errors
///
/// Fails if the file cannot be created in `directory`.
pub fn measure(directory: &Path) -> Result<Cost> {
    let clock_ns = clock::measure_quality().cost_ns;
    let scratch = Scratch(directory.join(format!("cost-{}-{}", std::process::id(), clock::now_ns())));
    let mut recorder = Recorder::create(&scratch.0, 0, BATCHES as u64 * BATCH)?;
    let mut costs: Vec<f64> = (0..BATCHES).map(|_| batch_ns(&mut recorder)).collect();
    costs.sort_by(f64::total_cmp);
    Ok(Cost { clock_ns, message_ns: costs[BATCHES / 2], copy_bytes_per_ns: copy_bytes_per_ns() })
}

/// Returns the median copy rate between blocks of mapped pages. Each block is used only once, and the caches are too
/// small for all blocks together.
fn copy_bytes_per_ns() -> f64 {
    let (from, mut to) = (vec![1u8; COPIES * BLOCK], vec![2u8; COPIES * BLOCK]);
    let blocks = from.chunks_exact(BLOCK).zip(to.chunks_exact_mut(BLOCK));
    let mut took_ns: Vec<i64> = blocks.map(|(from, to)| copy_ns(from, to)).collect();
    took_ns.sort_unstable();
    BLOCK as f64 / took_ns[COPIES / 2].max(1) as f64
}

fn copy_ns(from: &[u8], to: &mut [u8]) -> i64 {
    let begin_ns = clock::now_ns();
    to.copy_from_slice(black_box(from));
    black_box(to);
    clock::now_ns() - begin_ns
}

fn batch_ns(recorder: &mut Recorder) -> f64 {
    let begin_ns = clock::now_ns();
    for seq in 0..BATCH {
        let arrived_ns = clock::now_ns();
        recorder.push(Record { arrived_ns, forwarded_ns: clock::now_ns(), ..Record::of(seq) });
    }
    (clock::now_ns() - begin_ns) as f64 / BATCH as f64
}

/// A file that is removed when the measurement ends, even after an error.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed does no harm, because the directory is temporary.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_costs_more_than_its_two_readings_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let cost = measure(folder.path()).expect("measured");
        assert!(cost.clock_ns > 0.0 && cost.message_ns > cost.clock_ns, "{cost:?}");
        assert!(cost.copy_bytes_per_ns > 0.01 && cost.copy_bytes_per_ns < 1000.0, "{cost:?}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }
}
