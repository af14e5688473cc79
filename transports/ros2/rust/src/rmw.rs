//! Reports the rmw and the distribution of the ROS 2 that this process uses.

use std::ffi::CStr;
use std::path::Path;

/// Returns the name of the distribution, or an empty string if the distribution is unknown.
pub fn distribution() -> String {
    std::env::var("ROS_DISTRO").unwrap_or_default()
}

/// Returns the rmw with the version from its package.xml, because no rmw reports its own version.
pub fn version() -> String {
    // SAFETY: the text is a constant of the rmw, which stays loaded.
    let name = unsafe { CStr::from_ptr(r2r_rcl::rmw_get_implementation_identifier()) }.to_string_lossy();
    let prefixes = std::env::var("AMENT_PREFIX_PATH").unwrap_or_default();
    match prefixes.split(':').find_map(|prefix| version_in(Path::new(prefix), &name)) {
        Some(version) => format!("{name} {version}"),
        None => name.into_owned(),
    }
}

fn version_in(prefix: &Path, package: &str) -> Option<String> {
    let text = std::fs::read_to_string(prefix.join("share").join(package).join("package.xml")).ok()?;
    let (_, rest) = text.split_once("<version>")?;
    Some(rest.split_once("</version>")?.0.to_owned())
}
