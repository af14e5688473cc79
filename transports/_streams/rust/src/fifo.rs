//! Joins receivers to a binding end over named pipes. The binding end creates a pipe with the link's name. Each
//! receiver creates its own pipe in the same folder, and writes the name of this pipe to the binding end's pipe. At the
//! end, each side removes the pipe files that it can remove.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use hopmeter_instrument::prelude::*;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open, unlink};
use rustix::io::{Errno, read, write};

/// The size of the zero-padded pipe name that a receiver sends. Pipe writes of this size are atomic, so names never
/// mix.
const RECORD_BYTES: usize = 64;

/// One receiver's pipe.
pub struct Joined {
    pub pipe: OwnedFd,
    /// The name of the pipe's file, which is unique on this machine.
    pub name: String,
}

/// Creates the pipe on which a binding end receives names. Returns the pipe with its path.
pub fn listen(folder: &Path, link: &str) -> Result<(OwnedFd, String)> {
    let path = folder.join(format!("{link}.fifo")).display().to_string();
    make(&path)?;
    // The pipe is also open for writing, so that reads do not report the end of the stream while there are no
    // receivers.
    Ok((open_pipe(&path, OFlags::RDWR)?, path))
}

/// Opens the pipe of the next receiver, or returns `None` if no receiver waits. Removes the pipe's file from `folder`.
pub fn accept(listener: &OwnedFd, folder: &Path) -> Result<Option<Joined>> {
    loop {
        let mut record = [0; RECORD_BYTES];
        match read(listener, &mut record) {
            Ok(RECORD_BYTES) => {}
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Ok(None),
            Ok(bytes) => return Err(Error::new(format!("a receiver wrote {bytes} bytes to join"))),
            Err(cause) => return Err(Error::new("accepting a receiver").because(cause)),
        }
        let name = String::from_utf8_lossy(&record).trim_end_matches('\0').to_owned();
        if name.contains('/') {
            continue; // not written by an adapter
        }
        let path = folder.join(&name).display().to_string();
        // If the receiver has disconnected meanwhile, its file is missing or has no reader.
        if let Ok(pipe) = open_pipe(&path, OFlags::WRONLY) {
            let _ = unlink(&path);
            return Ok(Some(Joined { pipe, name }));
        }
    }
}

/// Creates a receiver's pipe and sends the pipe's name to the binding end. The name begins with `prefix`. The function
/// calls `prepare` with the pipe's name before it sends this name.
pub fn connect(address: &str, prefix: &str, prepare: impl FnOnce(&str) -> Result<()>) -> Result<Joined> {
    static PIPES: AtomicU64 = AtomicU64::new(0);
    let name = format!("{prefix}{}-{}", std::process::id(), PIPES.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(address).with_file_name(&name).display().to_string();
    make(&path)?;
    let pipe = open_pipe(&path, OFlags::RDONLY)?;
    prepare(&name)?;
    let mut record = [0; RECORD_BYTES];
    record[..name.len()].copy_from_slice(name.as_bytes());
    let joining = open_pipe(address, OFlags::WRONLY)?;
    write(&joining, &record).context(format!("joining {address}"))?;
    Ok(Joined { pipe, name })
}

fn make(path: &str) -> Result<()> {
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).context(format!("making the named pipe {path}"))
}

fn open_pipe(path: &str, way: OFlags) -> Result<OwnedFd> {
    open(path, way | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).context(format!("opening the pipe {path}"))
}
