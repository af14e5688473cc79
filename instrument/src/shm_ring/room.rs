//! Determines how much memory can be reserved.
//!
//! The kernel reserves shared memory page by page. If memory runs out in the middle, the kernel may kill a process
//! instead of returning an error. A request for more memory than is available is refused before any memory is reserved.

use std::fs;
use std::path::Path;

/// Returns the available memory in bytes: the minimum over the machine and all memory cgroups of this process. Returns
/// `None` if the kernel does not report the available memory.
pub fn available_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine_available(&text));
    machine.into_iter().chain(group_available()).min()
}

fn machine_available(meminfo: &str) -> Option<u64> {
    Some(field(meminfo, "MemAvailable:")? * 1024)
}

/// Checks every level from this process's memory cgroup up to the root, because every level may have a limit.
fn group_available() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    root.join(own).ancestors().take_while(|at| at.starts_with(root)).filter_map(limit_available).min()
}

fn limit_available(group: &Path) -> Option<u64> {
    let limit = number(&group.join("memory.max"))?;
    let used = number(&group.join("memory.current"))?;
    let kept = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    // The kernel counts cached file pages as used, but can drop them when memory is needed.
    let droppable = field(&kept, "inactive_file ").unwrap_or(0) + field(&kept, "active_file ").unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(droppable)))
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells_what_is_left() {
        assert_eq!(machine_available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert!(available_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn a_group_without_a_limit_does_not_count() {
        assert_eq!(limit_available(Path::new("/proc/self")), None);
    }
}
