//! Holds an arrived payload that is forwarded unchanged in another message.

use crate::frame::{Header, flags};

#[derive(Clone, Copy)]
pub struct Passed<'a> {
    pub payload: &'a [u8],
    /// The payload's checksum, if the message that carried the payload had a checksum.
    pub checksum: Option<u32>,
}

impl<'a> Passed<'a> {
    pub fn of(header: &Header, payload: &'a [u8]) -> Self {
        Self { payload, checksum: header.is(flags::CHECKSUM).then_some(header.checksum) }
    }

    /// Returns the header of the message that forwards this payload.
    pub fn header(&self, header: Header) -> Header {
        let checked = if self.checksum.is_some() { flags::CHECKSUM } else { 0 };
        Header {
            flags: header.flags & !flags::CHECKSUM | checked,
            length: self.payload.len() as u64,
            checksum: self.checksum.unwrap_or(0),
            ..header
        }
    }
}
