//! The bodies of messages: a byte array, or the file descriptor of sealed memory.

use std::os::fd::{AsFd, OwnedFd};

use hopmeter_instrument::prelude::*;
use memmap2::{MmapMut, MmapOptions};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create};
use serde_bytes::Bytes;
use zbus::Message;
use zbus::message::Builder;
use zbus::zvariant::{Fd, Signature};

/// Writes frames into the bodies of messages.
pub struct Writer {
    is_memfd: bool,
    buffer: Vec<u8>,
}

impl Writer {
    pub const fn new(is_memfd: bool) -> Self {
        Self { is_memfd, buffer: Vec::new() }
    }

    /// Lets `fill` write a frame, and returns the message that carries the frame.
    pub fn write(&mut self, message: Builder<'_>, payload_bytes: usize, fill: Fill<'_>) -> Result<Message> {
        const DOING: &str = "writing a D-Bus message";
        if self.is_memfd {
            let memory = seal_frame(payload_bytes, fill)?;
            return message.build(&Fd::from(memory.as_fd())).context(DOING);
        }
        fill.write_into(&mut self.buffer, payload_bytes);
        message.build(&Bytes::new(&self.buffer)).context(DOING)
    }
}

/// Lets `fill` write a frame into new memory, and seals the memory, so that no process can change or shorten it.
fn seal_frame(payload_bytes: usize, fill: Fill<'_>) -> Result<OwnedFd> {
    const DOING: &str = "creating sealed memory";
    let memory = memfd_create("hopmeter", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).context(DOING)?;
    ftruncate(&memory, (HEADER_BYTES + payload_bytes) as u64).context(DOING)?;
    // SAFETY: no other process has access to the memory yet.
    let mut mapped = unsafe { MmapMut::map_mut(&memory) }.context(DOING)?;
    fill.write(FrameMut::split(&mut mapped));
    drop(mapped); // memory cannot be sealed while it is mapped as writable
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL)
        .context(DOING)?;
    Ok(memory)
}

/// Passes the frame in a message to `take`.
///
/// # Errors
/// Fails if the message contains neither a byte array nor sealed memory.
pub fn read(message: &Message, take: Take<'_>) -> Result<()> {
    const DOING: &str = "reading a D-Bus message";
    let body = message.body();
    if body.signature() != &Signature::Fd {
        take(Received::split(body.deserialize().context(DOING)?));
        return Ok(());
    }
    let memory: Fd<'_> = body.deserialize().context(DOING)?;
    let needed = SealFlags::SHRINK | SealFlags::WRITE;
    if !fcntl_get_seals(&memory).context(DOING)?.contains(needed) {
        return Err(Error::new("the sender did not seal the memory of a message"));
    }
    // Before Linux 6.7, sealed memory cannot be mapped as shared.
    // SAFETY: the seals prevent every process from changing or shortening the memory.
    let mapped = unsafe { MmapOptions::new().map_copy_read_only(&memory.as_fd()) }.context(DOING)?;
    take(Received::split(&mapped));
    Ok(())
}
