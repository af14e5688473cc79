//! Publish-subscribe: a subscriber gives its publisher a capability, which the publisher calls for each message.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver as Queue, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use capnp_rpc::new_client;
use futures_util::future::join_all;
use hopmeter_instrument::prelude::*;
use hopmeter_streams::endpoint::SocketFile;
use hopmeter_tokio::frames::{Frames, as_received};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::event_loop::{EventLoop, Hosted};
use crate::hopmeter_capnp::{receiver, topic};
use crate::network::Network;
use crate::window::{Window, finish_sends};

/// The longest time that a closing publisher waits for its frames to be sent.
const FAREWELL: Duration = Duration::from_millis(100);

type Receivers = Rc<RefCell<Vec<receiver::Client>>>;

struct Topic(Receivers);

impl topic::Server for Topic {
    async fn subscribe(self: Rc<Self>, call: topic::SubscribeParams, _: topic::SubscribeResults) -> capnp::Result<()> {
        self.0.borrow_mut().push(call.get()?.get_receiver()?);
        Ok(())
    }
}

/// Calls every receiver with each frame. The next frame waits until the flow control of all receivers allows it.
async fn deliver_all(receivers: Receivers, mut frames: UnboundedReceiver<Bytes>, window: Arc<Window>) {
    while let Some(frame) = frames.recv().await {
        let called = receivers.borrow().clone();
        let sent = join_all(called.iter().map(|receiver| deliver(receiver, &frame))).await;
        if sent.contains(&false) {
            let mut outcomes = sent.into_iter();
            // Receivers that have subscribed meanwhile are at the end of the list, and remain.
            receivers.borrow_mut().retain(|_| outcomes.next().unwrap_or(true));
        }
        window.leave();
    }
}

/// Calls a receiver; returns false if it has disconnected. Cap'n Proto sends the message before the function waits.
async fn deliver(receiver: &receiver::Client, frame: &Bytes) -> bool {
    let mut request = receiver.deliver_request();
    request.get().set_frame(frame);
    request.send().await.is_ok()
}

pub struct TopicPublisher {
    address: String,
    frames: Frames,
    outbox: UnboundedSender<Bytes>,
    window: Arc<Window>,
    hosted: Hosted,
    _file: Option<SocketFile>,
}

impl TopicPublisher {
    pub fn open(network: &Network, link: &Link) -> Result<Self> {
        let listener = network.listen(link)?;
        let (outbox, frames) = unbounded_channel();
        let (window, network) = (Arc::<Window>::default(), network.clone());
        let (socket, emptied) = (listener.socket, window.clone());
        let hosted = EventLoop::of_endpoint()?.host(move || async move {
            let receivers = Receivers::default();
            let offer: topic::Client = new_client(Topic(receivers.clone()));
            tokio::join!(network.serve(socket, offer.client), deliver_all(receivers, frames, emptied));
        });
        let (address, file) = (listener.address, listener.file);
        Ok(Self { address, frames: Frames::default(), outbox, window, hosted, _file: file })
    }

    fn is_ready(&self) -> bool {
        self.hosted.home.is_here() || self.window.has_room()
    }

    fn pass_on(&self, frame: Bytes) -> Result<Sent> {
        self.window.enter();
        if self.hosted.home.is_here() {
            self.window.wait_after_callback();
        }
        self.outbox.send(frame).map_err(|_| Error::new("the publisher's event loop has ended"))?;
        Ok(Sent::Accepted)
    }
}

impl Publisher for TopicPublisher {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        if !self.is_ready() {
            return Ok(Sent::Busy);
        }
        let frame = self.frames.write(payload_bytes, fill);
        self.pass_on(frame)
    }

    fn forward(&mut self, received: &Received<'_>) -> Result<Sent> {
        match received.native_as::<Bytes>() {
            Some(_) if !self.is_ready() => Ok(Sent::Busy),
            Some(frame) => self.pass_on(frame.clone()),
            None => copy_on(received, |payload_bytes, fill| self.send(payload_bytes, fill)),
        }
    }
}

impl Drop for TopicPublisher {
    fn drop(&mut self) {
        if !self.hosted.home.is_here() {
            self.window.drain(FAREWELL);
        }
    }
}

/// What happens to a subscriber's frames on the event loop.
enum Taker {
    /// The endpoint polls, so the frames are copied for its thread.
    Queue(Sender<Bytes>, Arc<Window>),
    Callback(OnFrame),
    Closed,
}

type SharedTaker = Arc<Mutex<Taker>>;

struct Receiver(SharedTaker);

impl Receiver {
    /// Passes on a frame. Returns the window of the queue if the endpoint polls.
    fn take(&self, frame: &[u8]) -> Option<Arc<Window>> {
        match &mut *lock(&self.0) {
            Taker::Queue(queue, window) => {
                window.enter();
                drop(queue.send(Bytes::copy_from_slice(frame)));
                return Some(window.clone());
            }
            Taker::Callback(on_frame) => on_frame.call(Received::split(frame)),
            Taker::Closed => {}
        }
        None
    }
}

impl receiver::Server for Receiver {
    /// Returns when there is room for the next frame; the publisher may then send more.
    async fn deliver(self: Rc<Self>, call: receiver::DeliverParams) -> capnp::Result<()> {
        let window = self.take(call.get()?.get_frame()?);
        drop(call);
        if let Some(window) = window {
            window.wait_for_room().await;
        }
        finish_sends().await;
        Ok(())
    }
}

fn subscribe(network: &Network, link: &Link, taker: SharedTaker) -> Result<Hosted> {
    let (network, socket) = (network.clone(), network.endpoint.connect(link)?);
    Ok(EventLoop::of_endpoint()?.host(move || async move {
        let Ok((topic, system)) = network.connect::<topic::Client>(socket) else { return };
        let mut request = topic.subscribe_request();
        request.get().set_receiver(new_client(Receiver(taker)));
        // Both futures end if the publisher has disconnected.
        let _ = tokio::join!(request.send().promise, system);
    }))
}

/// A subscriber that is polled.
pub struct TopicSubscriber {
    frames: Queue<Bytes>,
    window: Arc<Window>,
    _hosted: Hosted,
}

impl TopicSubscriber {
    pub fn open(network: &Network, link: &Link) -> Result<Self> {
        let ((sender, frames), window) = (channel(), Arc::<Window>::default());
        let taker = Arc::new(Mutex::new(Taker::Queue(sender, window.clone())));
        Ok(Self { frames, window, _hosted: subscribe(network, link, taker)? })
    }
}

impl Subscriber for TopicSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let Ok(frame) = self.frames.recv_timeout(timeout) else { return Ok(0) };
        self.window.leave();
        take(as_received(&frame));
        Ok(1)
    }
}

pub struct TopicSubscription {
    taker: SharedTaker,
    _hosted: Hosted,
}

impl TopicSubscription {
    pub fn open(network: &Network, link: &Link, on_frame: OnFrame) -> Result<Self> {
        let taker = Arc::new(Mutex::new(Taker::Callback(on_frame)));
        Ok(Self { taker: taker.clone(), _hosted: subscribe(network, link, taker)? })
    }
}

impl Subscription for TopicSubscription {}

impl Drop for TopicSubscription {
    /// Waits for a running callback, and drops the callback on this thread.
    fn drop(&mut self) {
        let taken = std::mem::replace(&mut *lock(&self.taker), Taker::Closed);
        drop(taken);
    }
}
