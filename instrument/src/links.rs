//! Holds state that the ends of one link share within one process. The link's name is the key of the state.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::contract::Link;
use crate::sync::lock;

/// The shared states, by link name.
#[derive(Default)]
pub struct Links<T>(Mutex<HashMap<String, Arc<T>>>);

impl<T: Default> Links<T> {
    /// Returns the state of a link. The first link end that calls `of` for a link creates the link's state.
    pub fn of(&self, link: &Link) -> Arc<T> {
        let mut links = lock(&self.0);
        links.entry(link.name.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::HEADER_BYTES;
    use crate::spec::{PayloadKind, Wait};

    #[test]
    fn both_ends_of_a_link_get_the_same_state_and_other_links_get_their_own() {
        let link = |name: &str| Link {
            name: name.into(),
            address: String::new(),
            receivers: 1,
            payload: PayloadKind::Bytes,
            frame_bytes: HEADER_BYTES,
            wait: Wait::Block,
            message: None,
        };
        let links = Links::<Mutex<u8>>::default();
        let first = links.of(&link("a"));
        assert!(Arc::ptr_eq(&first, &links.of(&link("a"))));
        assert!(!Arc::ptr_eq(&first, &links.of(&link("b"))));
    }
}
