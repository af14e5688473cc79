//! Messages that MPI sends and receives while the adapter does something else. A request of the crate `mpi` borrows its
//! buffer for a scope, so the adapter calls MPI's functions itself.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::time::Instant;

use hopmeter_instrument::prelude::*;
use mpi::ffi;

/// A place to which messages are sent: a rank, and a tag that only one link end of this rank uses.
#[derive(Clone, Copy, PartialEq)]
pub struct Place {
    pub rank: c_int,
    pub tag: c_int,
}

/// Memory, with a request for each message that MPI may still send from it or receive into it.
#[derive(Default)]
pub struct Buffer {
    pub memory: Vec<u8>,
    pub requests: Vec<(Request, Place)>,
}

impl Buffer {
    /// Returns whether MPI no longer needs the memory. Waits for this until `until`.
    pub fn is_done_by(&mut self, until: Instant) -> Result<bool> {
        while let Some((request, _)) = self.requests.last_mut() {
            if !request.is_done_by(until)? {
                return Ok(false);
            }
            self.requests.pop();
        }
        Ok(true)
    }
}

/// A message that MPI may still be sending or receiving.
pub struct Request(ffi::MPI_Request);

// SAFETY: with MPI_THREAD_MULTIPLE, any thread may use a request; only one thread at a time uses a link end.
unsafe impl Send for Request {}

impl Request {
    /// Sends a message.
    ///
    /// # Safety
    /// The bytes must stay in place and unchanged until the request is done.
    pub unsafe fn send(bytes: &[u8], to: Place) -> Result<Self> {
        let mut request = MaybeUninit::uninit();
        let (data, length) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as c_int);
        let (kind, world) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD);
        check(ffi::MPI_Isend(data, length, kind, to.rank, to.tag, world, request.as_mut_ptr()), "sending a message")?;
        Ok(Self(request.assume_init()))
    }

    /// Receives a message of at most the buffer's size, sent by the rank `from` with the tag.
    ///
    /// # Safety
    /// Nothing else may use the buffer until the request is done.
    pub unsafe fn receive(buffer: &mut [u8], from: Place) -> Result<Self> {
        let mut request = MaybeUninit::uninit();
        let (data, length) = (buffer.as_mut_ptr().cast::<c_void>(), buffer.len() as c_int);
        let (kind, world) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD);
        let code = ffi::MPI_Irecv(data, length, kind, from.rank, from.tag, world, request.as_mut_ptr());
        check(code, "receiving a message")?;
        Ok(Self(request.assume_init()))
    }

    /// Returns the number of bytes if a received message has arrived, or if MPI no longer needs a sent message.
    /// Otherwise returns `None`.
    pub fn test(&mut self) -> Result<Option<usize>> {
        let (mut done, mut bytes, mut status) = (0, 0, MaybeUninit::uninit());
        // SAFETY: the request is valid, and MPI writes the status if the request is done.
        unsafe {
            check(ffi::MPI_Test(&mut self.0, &mut done, status.as_mut_ptr()), "waiting for a message")?;
            if done == 0 {
                return Ok(None);
            }
            ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut bytes);
        }
        Ok(Some(bytes.max(0) as usize))
    }

    /// Waits for the request, at most until the given time. Returns whether the request is done.
    pub fn is_done_by(&mut self, until: Instant) -> Result<bool> {
        loop {
            if self.test()?.is_some() {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    }

    /// Asks MPI to stop receiving. The request is done when MPI has stopped, or when the message has arrived.
    pub fn cancel(&mut self) {
        // SAFETY: the request is valid.
        unsafe { ffi::MPI_Cancel(&mut self.0) };
    }
}

/// Returns the next number that a rank has sent with this tag, and the rank; `None` if no number has arrived.
pub fn next_number(tag: c_int) -> Result<Option<(c_int, c_int)>> {
    let (mut found, mut number, mut status) = (0, 0, MaybeUninit::<ffi::MPI_Status>::uninit());
    // SAFETY: MPI writes the status if it has found a message.
    unsafe {
        let (any, world) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_COMM_WORLD);
        check(ffi::MPI_Iprobe(any, tag, world, &mut found, status.as_mut_ptr()), "looking for receivers")?;
        if found == 0 {
            return Ok(None);
        }
        let (from, place) = ((*status.as_ptr()).MPI_SOURCE, (&raw mut number).cast::<c_void>());
        let code = ffi::MPI_Recv(place, 1, ffi::RSMPI_INT32_T, from, tag, world, status.as_mut_ptr());
        check(code, "admitting a receiver")?;
        Ok(Some((number, from)))
    }
}

/// Lets MPI continue to send and receive.
pub fn call_mpi() {
    let (mut found, unused_tag) = (0, 0);
    // SAFETY: MPI is initialized; no link end sends with this tag.
    unsafe {
        let (any, world) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_COMM_WORLD);
        ffi::MPI_Iprobe(any, unused_tag, world, &mut found, ffi::RSMPI_STATUS_IGNORE);
    }
}

/// Returns an error with MPI's text if an MPI function returned an error code.
fn check(code: c_int, doing: &str) -> Result<()> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let (mut text, mut length) = ([0; ffi::MPI_MAX_ERROR_STRING as usize + 1], 0);
    // SAFETY: MPI writes a text that ends with a zero and fits into the array.
    let text = unsafe {
        ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut length);
        CStr::from_ptr(text.as_ptr())
    };
    Err(Error::new(format!("{doing}: {}", text.to_string_lossy())))
}
