//! The publisher and the subscriber of a link. A frame is one slice of bytes, header first.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::{LoanError, publisher, subscriber};
use iceoryx2::prelude::{PortFactory, ipc};

use crate::domain::Domain;
use crate::services::{FrameService, Services};

/// A port that may move between threads. The contract says that only one thread at a time uses a link end, but the
/// thread may change.
///
/// iceoryx2 binds an `ipc` port to one thread, because an `Rc` holds the state that the port shares with its loaned
/// samples. In this adapter, no sample outlives the call that loans it, so the port and its `Rc` always move together.
/// iceoryx2 also offers `ipc_threadsafe` ports, but such a port takes a lock per call.
struct Moving<T>(T);

// SAFETY: see above. The fields of both link ends are private, and no method returns a clone of a field. Several
// threads may use the shared domain.
unsafe impl<T> Send for Moving<T> {}

pub struct LoanPublisher(Moving<SenderPorts>);

struct SenderPorts {
    publisher: publisher::Publisher<ipc::Service, [u8], ()>,
    wake: Option<Notifier<ipc::Service>>,
    /// The publish-subscribe service, whose receiver count shows whether a frame had no receiver.
    frames: FrameService,
    /// The service is dropped after the ports above.
    _domain: Arc<Domain>,
}

impl LoanPublisher {
    pub fn open(services: Services, frame_bytes: usize, domain: Arc<Domain>) -> Result<Self> {
        let publisher = services
            .frames
            .publisher_builder()
            .initial_max_slice_len(frame_bytes)
            .backpressure_strategy(BackpressureStrategy::DiscardData)
            .create()
            .context(format!("creating a publisher of frames of {frame_bytes} bytes"))
            .map_err(|error| {
                error.remedy("a publisher reserves all its samples in /dev/shm; check that there is room")
            })?;
        let wake = services.wake.map(|wake| wake.notifier_builder().create()).transpose();
        let wake = wake.context("creating a notifier")?;
        Ok(Self(Moving(SenderPorts { publisher, wake, frames: services.frames, _domain: domain })))
    }
}

impl Publisher for LoanPublisher {
    fn send(&mut self, payload_bytes: usize, fill: Fill<'_>) -> Result<Sent> {
        let SenderPorts { publisher, wake, frames, .. } = &self.0.0;
        let mut sample = match publisher.loan_slice_uninit(HEADER_BYTES + payload_bytes) {
            Ok(sample) => sample,
            Err(LoanError::OutOfMemory | LoanError::ExceedsMaxLoans) => return Ok(Sent::Busy),
            Err(cause) => return Err(Error::new("loaning a sample from iceoryx2").because(cause)),
        };
        fill.write(FrameMut::split(as_bytes(sample.payload_mut())));
        // SAFETY: shared memory is zeroed or contains an earlier frame, so every byte is initialised.
        let receivers = unsafe { sample.assume_init() }.send().context("sending an iceoryx2 sample")?;
        if receivers == 0 && frames.dynamic_config().number_of_subscribers() > 0 {
            return Ok(Sent::Busy);
        }
        if let Some(wake) = wake {
            wake.notify().context("notifying iceoryx2's listeners")?;
        }
        Ok(Sent::Accepted)
    }
}

/// The bytes of a loaned sample.
fn as_bytes(sample: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the memory is mapped and initialised (see `send`), and every u8 is valid.
    unsafe { std::slice::from_raw_parts_mut(sample.as_mut_ptr().cast(), sample.len()) }
}

pub struct LoanSubscriber(Moving<ReceiverPorts>);

struct ReceiverPorts {
    subscriber: subscriber::Subscriber<ipc::Service, [u8], ()>,
    wake: Option<Listener<ipc::Service>>,
    /// The service is dropped after the ports above.
    _domain: Arc<Domain>,
}

impl LoanSubscriber {
    pub fn open(services: Services, domain: Arc<Domain>) -> Result<Self> {
        // The listener is created first, because a peer may wake the listener as soon as the peer sees the subscriber.
        let wake = services.wake.map(|wake| wake.listener_builder().create()).transpose();
        let wake = wake.context("creating a listener")?;
        let subscriber = services.frames.subscriber_builder().create().context("creating a subscriber")?;
        Ok(Self(Moving(ReceiverPorts { subscriber, wake, _domain: domain })))
    }
}

impl ReceiverPorts {
    fn take_all(&self, take: Take<'_>) -> Result<usize> {
        let mut frames = 0;
        while let Some(sample) = self.subscriber.receive().context("receiving from iceoryx2")? {
            take(Received::split(sample.payload()));
            frames += 1;
        }
        Ok(frames)
    }
}

impl Subscriber for LoanSubscriber {
    fn poll(&mut self, timeout: Duration, take: Take<'_>) -> Result<usize> {
        let receiving = &self.0.0;
        let frames = receiving.take_all(take)?;
        match &receiving.wake {
            Some(wake) if frames == 0 => {
                wake.timed_wait(|_| {}, timeout).context("waiting for an iceoryx2 event")?;
                receiving.take_all(take)
            }
            _ => Ok(frames),
        }
    }
}
