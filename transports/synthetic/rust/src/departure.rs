//! The departure time, which is stored in the last 8 bytes of each frame in the ring.

use hopmeter_instrument::prelude::*;

pub const DEPARTURE_BYTES: usize = size_of::<i64>();

/// Writes the departure time to the end of a frame in the ring.
pub fn write_departure(frame: &mut [u8], departed_ns: i64) {
    let at = frame.len() - DEPARTURE_BYTES;
    frame[at..].copy_from_slice(&departed_ns.to_le_bytes());
}

/// Removes the departure time from a frame of the ring, and returns the departure time.
///
/// # Errors
/// Fails if the frame is too short, because another program writes into this ring.
pub fn remove_departure(frame: &mut Vec<u8>) -> Result<i64> {
    let Some(departure) = frame.last_chunk().filter(|_| frame.len() >= HEADER_BYTES + DEPARTURE_BYTES) else {
        return Err(Error::new(format!("a frame of {} bytes has no departure", frame.len()))
            .remedy("run `hopmeter build synthetic` so that all nodes have the same version"));
    };
    let departed_ns = i64::from_le_bytes(*departure);
    frame.truncate(frame.len() - DEPARTURE_BYTES);
    Ok(departed_ns)
}
