//! The adapter for Unix stream sockets: a socket file in the trial's folder, named after the link.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::{Family, Streams, set_send_buffer, socket};
use rustix::net::{AddressFamily, SocketAddrUnix, bind, connect, listen};

/// The maximum number of receivers in the accept queue.
const WAITING_RECEIVERS: i32 = 128;

struct Unix {
    directory: PathBuf,
    send_buffer: usize,
}

impl Family for Unix {
    fn path(&self) -> String {
        "Unix sockets".into()
    }

    fn listen(&self, link: &Link) -> Result<(OwnedFd, String)> {
        let path = self.directory.join(format!("{}.sock", link.name)).display().to_string();
        let listener = socket(AddressFamily::UNIX)?;
        bind(&listener, &socket_address(&path)?).context(format!("binding {path}"))?;
        listen(&listener, WAITING_RECEIVERS).context(format!("listening at {path}"))?;
        Ok((listener, path))
    }

    fn configure_accepted(&self, connection: &OwnedFd) -> Result<()> {
        set_send_buffer(connection, self.send_buffer)
    }

    fn connect(&self, address: &str) -> Result<OwnedFd> {
        let connection = socket(AddressFamily::UNIX)?;
        connect(&connection, &socket_address(address)?).context(format!("connecting to {address}"))?;
        Ok(connection)
    }

    fn remove(&self, address: &str) {
        // Ignore errors, because the launcher removes the folder anyway.
        let _ = rustix::fs::unlink(address);
    }
}

fn socket_address(path: &str) -> Result<SocketAddrUnix> {
    SocketAddrUnix::new(path)
        .context(format!("{path} is too long for the address of a Unix socket, which has at most 107 bytes"))
        .map_err(|error| error.remedy("set TMPDIR to a folder with a shorter path"))
}

fn open(setup: &Setup) -> Result<Arc<dyn Transport>> {
    let unix = Unix { directory: setup.directory.clone(), send_buffer: setup.setting("send_buffer")? };
    Ok(Arc::new(Streams::new(unix)))
}

fn main() -> ExitCode {
    node::main("unix", "rust", open, hopmeter_streams::version)
}
