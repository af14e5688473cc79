//! Re-exports everything that an adapter needs: `use hopmeter_instrument::prelude::*`.

pub use crate::contract::*;
pub use crate::duplex::DuplexClient;
pub use crate::error::{Context, Error, Result};
pub use crate::frame::HEADER_BYTES;
pub use crate::library_version;
pub use crate::links::Links;
pub use crate::node;
pub use crate::polling::{serve_by_polling, subscribe_by_polling};
pub use crate::spec::{PayloadKind, Wait};
pub use crate::sync::lock;
