//! Makes glibc retain the memory that a node frees.

/// The maximum size of a block (32 MiB with its header) that makes glibc retain freed memory. glibc returns larger
/// blocks to the kernel as soon as they are freed.
const MOST_KEPT_BYTES: usize = (32 << 20) - 8192;

/// Makes glibc retain freed memory, as in a program that has already freed a block of `MOST_KEPT_BYTES`.
///
/// Without this function, the rest of the heap determines whether glibc returns freed messages to the kernel. For
/// messages of 1 MB and more, mapping returned memory again, page by page, takes half of the message's time.
/// The environment variables `MALLOC_TRIM_THRESHOLD_` and `GLIBC_TUNABLES` take precedence if they are set.
pub fn retain_freed_memory() {
    let mut large = Vec::<u8>::new();
    // If there is too little memory for this block, the code that needs memory later reports the error.
    let _ = large.try_reserve_exact(MOST_KEPT_BYTES);
    std::hint::black_box(&large);
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::retain_freed_memory;

    const BLOCK_BYTES: usize = 4 << 20;
    const PAGE_BYTES: usize = 4096;

    fn faults() -> i64 {
        // SAFETY: the struct contains only numbers, for which zeros are valid, and the kernel fills it in.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
            usage.ru_minflt
        }
    }

    /// Frees three blocks whose total size exceeds the memory that glibc retains after it has freed one such block.
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
