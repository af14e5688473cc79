//! Polled link ends, whose node the polling thread spins.

use std::time::Duration;

use futures::stream::{BoxStream, StreamExt};
use futures::{FutureExt, Stream};
use hopmeter_instrument::prelude::*;
use r2r::Node;

/// A node, and the messages that arrive at this node.
pub struct Polled<T> {
    pub node: Node,
    pub arrivals: BoxStream<'static, T>,
}

impl<T> Polled<T> {
    pub fn new(node: Node, arrivals: impl Stream<Item = T> + Send + 'static) -> Self {
        Self { node, arrivals: arrivals.boxed() }
    }

    /// Returns the next arrival. Waits at most `timeout` for an arrival, unless the link end spins.
    pub fn next(&mut self, wait: Wait, timeout: Duration) -> Option<T> {
        spin(&mut self.node, wait, timeout);
        self.arrivals.next().now_or_never().flatten()
    }
}

/// Lets the node take at most one arrived message per link end.
pub fn spin(node: &mut Node, wait: Wait, timeout: Duration) {
    node.spin_once(if wait == Wait::Spin { Duration::ZERO } else { timeout });
}
