//! What glibc does with the memory that a node frees.

/// The largest block from which glibc learns (32 MiB with its own header): what is larger it always gives back.
const MOST_KEPT_BYTES: usize = (32 << 20) - 8192;

/// Has glibc keep what messages are freed from, as in a program that once freed something as large.
///
/// Else it depends on what else lies on the heap whether each message finds its memory given back to the kernel and
/// takes it anew, page by page, which is half of the time of 1 MB and more. Who sets glibc's thresholds by
/// `MALLOC_TRIM_THRESHOLD_` or `GLIBC_TUNABLES` has those.
pub fn retain_freed_memory() {
    let mut large = Vec::<u8>::new();
    // Where there is no room for it, what needs room will say so.
    let _ = large.try_reserve_exact(MOST_KEPT_BYTES);
    std::hint::black_box(&large);
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::retain_freed_memory;

    const BLOCK_BYTES: usize = 4 << 20;
    const PAGE_BYTES: usize = 4096;

    fn faults() -> i64 {
        // SAFETY: plain numbers, for which zeros are values, and a kernel that fills them in.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
            usage.ru_minflt
        }
    }

    /// Three blocks at a time are more than glibc keeps by what it has learnt from one.
    fn use_and_free() {
        let mut blocks = [(); 3].map(|()| vec![0_u8; BLOCK_BYTES]);
        for block in &mut blocks {
            block.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
        }
        std::hint::black_box(&blocks);
    }

    #[test]
    fn freed_memory_is_used_again_without_page_faults() {
        retain_freed_memory();
        use_and_free();
        let before = faults();
        (0..10).for_each(|_| use_and_free());
        let pages = 10 * 3 * BLOCK_BYTES / PAGE_BYTES;
        assert!(faults() - before < pages as i64 / 10, "{} faults for {pages} pages", faults() - before);
    }
}
