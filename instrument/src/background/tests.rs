use super::*;

const ONE_CORE: u64 = 200_000_000;

fn run(request: &Request) -> Reading {
    let load = Load::start(request).expect("a load");
    let before = load.reading().expect("a reading");
    clock::sleep_until(before.at_ns + ONE_CORE as i64);
    let after = load.reading().expect("a reading");
    Reading {
        at_ns: after.at_ns - before.at_ns,
        cpu_ns: after.cpu_ns - before.cpu_ns,
        copied_bytes: after.copied_bytes - before.copied_bytes,
    }
}

fn first_core() -> Vec<u32> {
    // SAFETY: the set is a plain bit set of the given size.
    let allowed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, std::mem::size_of_val(&set), &raw mut set);
        set
    };
    // SAFETY: the index is within the set.
    (0..1024).filter(|core| unsafe { libc::CPU_ISSET(*core as usize, &allowed) }).take(1).collect()
}

#[test]
fn a_core_is_busy_for_its_share_and_no_longer() {
    let seen = run(&Request { cores: first_core(), cpu_share: 0.3, ..Request::default() });
    let most_ns = 0.3 * (seen.at_ns + 2 * PERIOD_NS) as f64;
    assert!(seen.cpu_ns > 0 && (seen.cpu_ns as f64) < 1.1 * most_ns, "{seen:?}");
    assert_eq!(seen.copied_bytes, 0);
}

#[test]
fn no_more_is_copied_than_was_asked() {
    let seen = run(&Request { cores: first_core(), copy_bytes_per_s: 5e7, ..Request::default() });
    let most = 5e7 * (seen.at_ns + 2 * PERIOD_NS) as f64 / 1e9 + CHUNK as f64;
    assert!(seen.copied_bytes > 0 && (seen.copied_bytes as f64) < most, "{seen:?}");
    assert_eq!(seen.cpu_ns, 0, "the CPU time of copies is not that of the busy threads");
}

#[test]
fn chunks_go_through_the_whole_block_and_begin_again() {
    let mut blocks = Blocks { from: vec![1; 2 * CHUNK], to: vec![2; 2 * CHUNK], at: 0 };
    blocks.copy_chunk();
    assert_eq!((blocks.at, blocks.to[0], blocks.to[CHUNK]), (CHUNK, 1, 2));
    blocks.copy_chunk();
    assert_eq!((blocks.at, blocks.to[CHUNK]), (0, 1));
}

#[test]
fn the_blocks_are_larger_than_the_cache_and_are_shared_by_the_threads() {
    let (one, many) = (Blocks::new(1), Blocks::new(1000));
    assert!(2 * one.from.len() >= CACHES * last_level_cache() - 2 * CHUNK);
    assert_eq!(2 * many.from.len(), LEAST_BLOCKS);
}

#[test]
fn a_gigabyte_a_second_takes_a_thread_and_a_core_has_one() {
    let asked =
        |copy_bytes_per_s| copying_threads(&Request { cores: vec![0, 1], copy_bytes_per_s, ..Request::default() });
    assert_eq!([0.0, 1e6, 1e9, 1.5e9, 9e9].map(asked), [0, 1, 1, 2, 2]);
}

#[test]
fn a_core_that_does_not_exist_is_an_error_with_its_number() {
    let request = Request { cores: vec![1000], cpu_share: 0.5, ..Request::default() };
    let error = Load::start(&request).err().expect("there is no core 1000");
    assert!(error.to_string().contains("core 1000"), "{error}");
}

#[test]
fn sizes_are_read_as_the_kernel_writes_them() {
    assert_eq!(
        ["48K", "32M", "1G", "12", ""].map(parse_size),
        [Some(48 << 10), Some(32 << 20), Some(1 << 30), None, None]
    );
}
