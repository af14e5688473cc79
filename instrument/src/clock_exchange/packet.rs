//! The datagram of the clock exchange. A request and its reply have equal sizes, so nobody can use a responder to
//! amplify traffic.

/// The size of every datagram.
pub const BYTES: usize = 64;
const MAGIC: [u8; 4] = *b"HMCX";
const VERSION: u16 = 1;
/// The value of an unknown timestamp.
pub const NO_STAMP: i64 = i64::MIN;

/// The secret of a run. A responder ignores datagrams that do not contain the run's secret, so other senders have no
/// effect.
pub type Token = [u8; 16];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Request = 1,
    Reply = 2,
}

/// A request or a reply. Only a reply has timestamps, which are on the responder's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    pub kind: Kind,
    pub token: Token,
    pub number: u64,
    pub received_ns: i64,
    pub sent_ns: i64,
    /// When the kernel sent the reply to the previous request; the responder learns this time only after sending that
    /// reply.
    pub previous_sent_ns: i64,
    /// The maximum total error of the responder's timestamps.
    pub error_ns: u32,
    /// Whether the kernel took the timestamp `received_ns`.
    pub is_kernel_stamp: bool,
}

impl Packet {
    pub fn request(token: Token, number: u64) -> Self {
        Self {
            kind: Kind::Request,
            token,
            number,
            received_ns: NO_STAMP,
            sent_ns: NO_STAMP,
            previous_sent_ns: NO_STAMP,
            error_ns: 0,
            is_kernel_stamp: false,
        }
    }

    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&(self.kind as u16).to_le_bytes());
        bytes[8..24].copy_from_slice(&self.token);
        bytes[24..32].copy_from_slice(&self.number.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.received_ns.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.previous_sent_ns.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.error_ns.to_le_bytes());
        bytes[60..].copy_from_slice(&u32::from(self.is_kernel_stamp).to_le_bytes());
        bytes
    }

    /// Parses a datagram of this run. Returns `None` for a datagram that does not belong to this run, whatever bytes
    /// the datagram has.
    pub fn decode(bytes: &[u8], kind: Kind, token: &Token) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let is_ours = bytes[..4] == MAGIC
            && bytes[4..6] == VERSION.to_le_bytes()
            && bytes[6..8] == (kind as u16).to_le_bytes()
            && bytes[8..24] == *token;
        is_ours.then(|| Self {
            kind,
            token: *token,
            number: u64::from_le_bytes(array(bytes, 24)),
            received_ns: i64::from_le_bytes(array(bytes, 32)),
            sent_ns: i64::from_le_bytes(array(bytes, 40)),
            previous_sent_ns: i64::from_le_bytes(array(bytes, 48)),
            error_ns: u32::from_le_bytes(array(bytes, 56)),
            is_kernel_stamp: u32::from_le_bytes(array(bytes, 60)) == 1,
        })
    }
}

fn array<const N: usize>(bytes: &[u8; BYTES], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = [7; 16];

    #[test]
    fn a_packet_survives_the_network_byte_by_byte() {
        let packet = Packet {
            kind: Kind::Reply,
            received_ns: -5,
            sent_ns: i64::MAX,
            previous_sent_ns: 3,
            error_ns: 9,
            is_kernel_stamp: true,
            ..Packet::request(TOKEN, u64::MAX)
        };
        assert_eq!(Packet::decode(&packet.encode(), Kind::Reply, &TOKEN), Some(packet));
    }

    #[test]
    fn a_packet_of_another_size_run_kind_or_version_is_none() {
        let good = Packet::request(TOKEN, 1).encode();
        let of = |bytes: &[u8]| Packet::decode(bytes, Kind::Request, &TOKEN);
        assert!(of(&good).is_some());
        assert!((0..BYTES).all(|length| of(&good[..length]).is_none()));
        assert!(of(&[&good[..], &[0]].concat()).is_none());
        assert!(Packet::decode(&good, Kind::Reply, &TOKEN).is_none());
        for place in 0..24 {
            let mut wrong = good;
            wrong[place] ^= 1;
            assert!(of(&wrong).is_none(), "byte {place}");
        }
    }
}
