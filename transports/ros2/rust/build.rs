//! Lets the node find the libraries of the ROS 2 installation that it is built for.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=AMENT_PREFIX_PATH");
    if env::var_os("CARGO_FEATURE_ROS2").is_none() {
        return;
    }
    // An RPATH also applies to the dependencies of libraries and to libraries loaded at run time.
    link("-Wl,--disable-new-dtags");
    let prefixes = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    for prefix in env::split_paths(&prefixes).filter(|prefix| prefix.join("lib").is_dir()) {
        search(&prefix.join("lib"));
        link_message_support(&prefix.join("lib"));
        find_wheels(&prefix);
    }
}

fn link(argument: &str) {
    println!("cargo:rustc-link-arg-bins={argument}");
}

fn search(folder: &Path) {
    link(&format!("-Wl,-rpath,{}", folder.display()));
}

/// Links the type support of hopmeter's messages, because an rmw finds the type support only if the node has already
/// loaded it.
fn link_message_support(folder: &Path) {
    let is_support = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libhopmeter_ros2__rosidl_typesupport_") && name.ends_with("_c.so")
    };
    let files = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    for library in files.filter(is_support) {
        link("-Wl,--no-as-needed");
        link(&library.display().to_string());
    }
}

/// Finds the ROS 2 packages from PyPI, which keep their dependencies in their own folders and link to Python.
fn find_wheels(prefix: &Path) {
    let folders = packages(prefix).flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    let folders = folders.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "libs"));
    folders.for_each(|folder| search(&folder));
    let python = prefix.join("bin/python");
    if python.exists() {
        link_python(&python);
    }
}

fn packages(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let libraries = prefix.join("lib").read_dir().into_iter().flatten().flatten();
    libraries.map(|entry| entry.path().join("site-packages")).filter(|path| path.is_dir())
}

fn link_python(python: &Path) {
    const WHERE: &str =
        "import sysconfig as s; print(s.get_config_var('LIBDIR'), s.get_config_var('LDLIBRARY'), sep='/')";
    let said = Command::new(python).args(["-I", "-c", WHERE]).output().expect("the environment has a Python");
    let library = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
    search(library.parent().unwrap_or(Path::new("/")));
    link("-Wl,--no-as-needed");
    link(&library.display().to_string());
}
