//! Versions of crates that cannot be asked for theirs.

/// The version of a crate that a lock file pins, given as `include_str!("…/Cargo.lock")`; "unknown" where it has none.
pub fn locked(lock: &str, name: &str) -> String {
    let wanted = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != wanted);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_versions() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2\"\n\n[[package]]\nname = \"ab\"\nversion = \"3.4.5\"\n";
        assert_eq!((locked(lock, "a"), locked(lock, "ab")), ("1.2".into(), "3.4.5".into()));
        assert_eq!(locked(lock, "b"), "unknown");
    }
}
