//! The adapter for named pipes: one pipe for each receiver, and one pipe through which receivers join.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::{Family, Streams, fifo};
use rustix::pipe::fcntl_setpipe_size;

struct Pipes {
    directory: PathBuf,
    pipe_size: usize,
}

impl Family for Pipes {
    fn path(&self) -> String {
        "named pipes".into()
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn listen(&self, link: &Link) -> Result<(OwnedFd, String)> {
        fifo::listen(&self.directory, &link.name)
    }

    fn accept(&self, listener: &OwnedFd) -> Result<Option<OwnedFd>> {
        let joined = fifo::accept(listener, &self.directory)?;
        joined.map(|joined| set_size(&joined.pipe, self.pipe_size).map(|()| joined.pipe)).transpose()
    }

    fn connect(&self, address: &str) -> Result<OwnedFd> {
        fifo::connect(address, "", |_| Ok(())).map(|joined| joined.pipe)
    }

    fn remove(&self, address: &str) {
        // Ignore errors, because the launcher removes the folder anyway.
        let _ = rustix::fs::unlink(address);
    }
}

/// Sets the capacity of a pipe. The value 0 keeps the system's default. The kernel rounds the capacity up to pages
/// whose number is a power of two.
fn set_size(pipe: &OwnedFd, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    fcntl_setpipe_size(pipe, bytes).map(drop).map_err(|cause| {
        Error::new(format!("the system refuses a pipe of {bytes} bytes"))
            .remedy(format!("request a smaller size, or raise the limit: sysctl -w fs.pipe-max-size={bytes}"))
            .because(cause)
    })
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    let pipes = Pipes { directory: setup.directory.clone(), pipe_size: setup.setting("pipe_size")? };
    Ok(Arc::new(Streams::new(pipes)))
}

fn main() -> ExitCode {
    node::main("pipe", "rust", open, hopmeter_streams::version)
}
