//! Implements the transport contract with the shared-memory ring.

use std::thread::JoinHandle;
use std::time::Duration;

use crate::prelude::*;

use super::consumer::{Consumer, Interrupter};
use super::producer::{Options, Producer, WhenFull};

/// The longest sleep of a consumer that calls a callback, unless the consumer's interrupter ends the sleep earlier.
const NAP: Duration = Duration::from_secs(1);

/// A transport in which every link is a shared-memory ring with the options of this struct.
pub struct RingTransport {
    pub slots: u32,
    pub when_full: WhenFull,
}

impl RingTransport {
    fn options(&self, link: &Link) -> Options {
        let payload_bytes = link.frame_bytes.saturating_sub(HEADER_BYTES) as u64;
        Options { slots: self.slots, payload_bytes, when_full: self.when_full }
    }
}

fn connect(link: &Link, sleeps: bool) -> Result<Consumer> {
    Consumer::connect(&link.address, &link.name, sleeps)
}

impl Transport for RingTransport {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher(Producer::open(&link.name, &self.options(link))?)))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let sleeps = link.wait != Wait::Spin;
        Ok(Box::new(TopicSubscriber { consumer: connect(link, sleeps)?, sleeps, at_once: self.slots }))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(CallbackSubscription::start(connect(link, true)?, on_frame)?))
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("path".into(), "shared memory (memfd)".into())]
    }
}

struct TopicPublisher(Producer);

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.0.address().to_owned()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let Some(mut loan) = self.0.loan(payload_bytes)? else { return Ok(Sent::Busy) };
        let (header, payload) = loan.frame();
        fill.write(FrameMut { header, payload });
        loan.publish();
        Ok(Sent::Accepted)
    }
}

struct TopicSubscriber {
    consumer: Consumer,
    sleeps: bool,
    /// The maximum number of frames per poll. This limit ensures that a poll ends even if frames arrive faster than
    /// they are handled.
    at_once: u32,
}

impl TopicSubscriber {
    fn drain(&mut self, take: Take<'_>) -> Result<usize> {
        let mut count = 0;
        while count < self.at_once as usize
            && self.consumer.receive(|header, payload| take(Received::parts(header, payload)))?
        {
            count += 1;
        }
        Ok(count)
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let count = self.drain(take)?;
        if count > 0 || !self.sleeps {
            return Ok(count);
        }
        self.consumer.sleep(timeout);
        self.drain(take)
    }
}

/// A thread that sleeps until the ring has a message, and then calls the callback.
struct CallbackSubscription {
    interrupter: Interrupter,
    thread: Option<JoinHandle<()>>,
}

impl CallbackSubscription {
    fn start(consumer: Consumer, on_frame: OnFrame) -> Result<Self> {
        let interrupter = consumer.interrupter();
        let thread = std::thread::Builder::new()
            .name("shm-callback".into())
            .spawn(move || {
                if let Err(error) = call(consumer, on_frame) {
                    eprintln!("shm: no more calls: {error}");
                }
            })
            .context("starting the thread that calls")?;
        Ok(Self { interrupter, thread: Some(thread) })
    }
}

impl Subscription for CallbackSubscription {}

impl Drop for CallbackSubscription {
    fn drop(&mut self) {
        self.interrupter.interrupt();
        if let Some(thread) = self.thread.take() {
            // If the callback panicked, the log contains the panic message.
            let _ = thread.join();
        }
    }
}

fn call(mut consumer: Consumer, mut on_frame: OnFrame) -> Result<()> {
    while !consumer.is_stopped() {
        if !consumer.receive(|header, payload| on_frame.call(Received::parts(header, payload)))? {
            consumer.sleep(NAP);
        }
    }
    Ok(())
}
