// Encodes and verifies a FlatBuffers table with the code that flatc generated.

use flatbuffers::{FlatBufferBuilder, VerifierOptions, root_with_opts};

use crate::{Message, MessageT};

/// The alignment of a payload. 8 bytes are sufficient, because scalars have at most 8 bytes and the `flatbuffers` crate
/// reads structs byte by byte.
const ALIGNMENT: usize = 8;
/// The minimum size in bytes of a table and the offset that refers to the table. This minimum size limits the number of
/// tables that a payload can contain.
const LEAST_TABLE_BYTES: usize = 4;

/// The object to send, with its encoded bytes for comparisons.
pub struct Object {
    object: MessageT,
    bytes: Vec<u8>,
}

#[derive(Default)]
pub struct Encoder(FlatBufferBuilder<'static>);

/// A verified payload, or an aligned copy if the payload's memory is not aligned.
pub enum Decoded {
    InPlace(&'static [u8]),
    Copied { words: Vec<u64>, bytes: usize },
}

impl Object {
    pub fn open(bytes: &'static [u8]) -> Option<Self> {
        let object = Decoded::decode(bytes)?.unpack()?;
        let mut encoder = Encoder::default();
        let bytes = pack(&object, &mut encoder.0).to_vec();
        Some(Self { object, bytes })
    }

    pub fn encode<'a>(&self, encoder: &'a mut Encoder) -> &'a [u8] {
        pack(&self.object, &mut encoder.0)
    }

    pub fn equals(&self, decoded: &Decoded) -> bool {
        let mut encoder = Encoder::default();
        decoded.unpack().is_some_and(|came| pack(&came, &mut encoder.0) == self.bytes)
    }
}

fn pack<'a>(object: &MessageT, builder: &'a mut FlatBufferBuilder<'static>) -> &'a [u8] {
    builder.reset();
    let table = object.pack(builder);
    builder.finish(table, None);
    builder.finished_data()
}

impl Decoded {
    pub fn decode(payload: &'static [u8]) -> Option<Self> {
        let decoded = Self::align(payload);
        decoded.verify().is_some().then_some(decoded)
    }

    fn align(payload: &'static [u8]) -> Self {
        if payload.as_ptr() as usize % ALIGNMENT == 0 {
            return Self::InPlace(payload);
        }
        let bytes = payload.len();
        let mut words = vec![0u64; bytes.div_ceil(ALIGNMENT)];
        // SAFETY: the words have at least as many bytes as the payload.
        unsafe { std::ptr::copy_nonoverlapping(payload.as_ptr(), words.as_mut_ptr().cast(), bytes) };
        Self::Copied { words, bytes }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::InPlace(payload) => payload,
            // SAFETY: the words have at least that many bytes, and all of them are initialized.
            Self::Copied { words, bytes } => unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), *bytes) },
        }
    }

    fn verify(&self) -> Option<Message<'_>> {
        let bytes = self.bytes();
        let limits = VerifierOptions { max_tables: bytes.len() / LEAST_TABLE_BYTES + 1, ..VerifierOptions::default() };
        root_with_opts::<Message<'_>>(&limits, bytes).ok()
    }

    fn unpack(&self) -> Option<MessageT> {
        self.verify().map(|message| message.unpack())
    }
}
