//! Implements the instrument's pubsub traits for an adapter's publishers and subscribers.

use std::time::Duration;

use hopmeter_instrument::contract::{self, Fill, Received, Shared, Take};
use hopmeter_instrument::frame::HEADER_BYTES;
use hopmeter_instrument::{Result, Sent};

use crate::end_handle::end_handle;
use crate::loan::{give_shared, lend_fill, lend_take};
use crate::{calls, frames, text};

end_handle!(CPublisher, calls::Publisher, calls::PublisherCalls);
end_handle!(CSubscriber, calls::Subscriber, calls::SubscriberCalls);
end_handle!(CSubscription, calls::Subscription, calls::SubscriptionCalls);

impl contract::Publisher for CPublisher {
    fn address(&self) -> String {
        self.calls().address.map_or_else(String::new, |address| text::read_text(|out| address(self.object(), out)))
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let (object, send) = (self.object(), self.calls().send);
        lend_fill(fill, |fill| text::send_outcome(|error| send(object, payload_bytes, fill, error)))
    }

    fn send_parts(&mut self, header: &[u8; HEADER_BYTES], payload: &Shared) -> Result<Sent> {
        match self.calls().send_parts {
            Some(send) => text::send_outcome(|error| send(self.object(), header.as_ptr(), give_shared(payload), error)),
            None => {
                contract::copy_on(&Received { payload: (**payload).as_ref(), ..Received::split(header) }, |n, fill| {
                    self.send(n, fill)
                })
            }
        }
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match self.calls().forward {
            Some(forward) => text::send_outcome(|error| forward(self.object(), &frames::lend(received), error)),
            None => contract::copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

impl contract::Subscriber for CSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let (object, poll) = (self.object(), self.calls().poll);
        lend_take(take, |take| text::count(|error| poll(object, nanoseconds(timeout), take, error)))
    }
}

impl contract::Subscription for CSubscription {}

/// Converts a timeout to the ABI's type.
pub fn nanoseconds(timeout: Duration) -> i64 {
    i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX)
}
