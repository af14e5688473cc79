//! The Rust adapter: implements hopmeter's contract with the ring of `lib.rs`.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_shm::{Consumer, Interrupter, Options, Producer, WhenFull};

/// How long a called consumer sleeps at most; its interrupter wakes it earlier.
const NAP: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    node::main("shm", "rust", |setup| Ok(Arc::new(Shm::open(setup)?)), version)
}

fn version() -> String {
    format!("hopmeter-shm {}", env!("CARGO_PKG_VERSION"))
}

struct Shm {
    slots: u32,
    when_full: WhenFull,
}

impl Shm {
    fn open(setup: &Setup) -> Result<Self> {
        Ok(Self { slots: setup.setting("slots")?, when_full: when_full(setup)? })
    }

    fn options(&self, link: &Link) -> Options {
        let payload_bytes = link.frame_bytes.saturating_sub(HEADER_BYTES) as u64;
        Options { slots: self.slots, payload_bytes, when_full: self.when_full }
    }

    fn consumer(&self, link: &Link, sleeps: bool) -> Result<Consumer> {
        Consumer::connect(&link.address, &link.name, sleeps)
    }
}

fn when_full(setup: &Setup) -> Result<WhenFull> {
    match setup.setting::<String>("when_full")?.as_str() {
        "busy" => Ok(WhenFull::Busy),
        "drop_oldest" => Ok(WhenFull::DropOldest),
        other => Err(Error::new(format!("when_full = \"{other}\" is unknown")).remedy("use busy or drop_oldest")),
    }
}

impl Transport for Shm {
    fn publisher(&self, link: &Link) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(TopicPublisher(Producer::open(&link.name, &self.options(link))?)))
    }

    fn subscriber(&self, link: &Link) -> Result<Box<dyn Subscriber>> {
        let sleeps = link.wait != Wait::Spin;
        Ok(Box::new(TopicSubscriber { consumer: self.consumer(link, sleeps)?, sleeps, at_once: self.slots }))
    }

    fn subscribe(&self, link: &Link, on_frame: OnFrame) -> Result<Box<dyn Subscription>> {
        Ok(Box::new(CallbackSubscription::start(self.consumer(link, true)?, on_frame)?))
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
    /// The maximum number of frames in one poll, so that the poll ends even if the sender is faster.
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

/// A thread that sleeps in the ring and calls the callback.
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
            // If the callback panicked, the log shows the panic.
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
