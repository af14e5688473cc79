//! Finds the versions of libraries that cannot report their own version.

/// Returns a crate's version from the adapter's lock file, which is read at build time. The lock file of hopmeter's own
/// workspace is three directories above the adapter's crate.
#[macro_export]
macro_rules! library_version {
    ($crate_name:literal) => {
        $crate::version::version_in(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../Cargo.lock")),
            $crate_name,
        )
    };
}

/// Returns a crate's version from the text of a lock file, or "unknown" if the lock file does not list the crate.
pub fn version_in(lock: &str, name: &str) -> String {
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
        assert_eq!((version_in(lock, "a"), version_in(lock, "ab")), ("1.2".into(), "3.4.5".into()));
        assert_eq!(version_in(lock, "b"), "unknown");
    }
}
