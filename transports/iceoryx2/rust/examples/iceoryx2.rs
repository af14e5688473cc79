//! Sends messages with iceoryx2: start `example receive`, then `example send` in a second terminal.

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::prelude::{NodeBuilder, ServiceName, ipc};
use iceoryx2::service::port_factory::{event, publish_subscribe};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const BUFFER: usize = 16;
/// What happens if a buffer is full: `drop_oldest`, or `busy` (the sender tries again).
const FULL: &str = "drop_oldest";
const PATIENCE: Duration = Duration::from_secs(10);

type Messages = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;

/// Opens the service for messages, and the service for events that wake the receiver.
fn open_services() -> Result<(Messages, event::PortFactory<ipc::Service>), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let name = ServiceName::new(TOPIC)?;
    let builder = node.service_builder(&name).publish_subscribe::<[u8]>().subscriber_max_buffer_size(BUFFER);
    let messages = builder.enable_safe_overflow(FULL == "drop_oldest").open_or_create()?;
    Ok((messages, node.service_builder(&name).event().open_or_create()?))
}

fn send() -> Result<(), Box<dyn Error>> {
    let (messages, events) = open_services()?;
    let builder = messages.publisher_builder().initial_max_slice_len(PAYLOAD_BYTES);
    let publisher = builder.backpressure_strategy(BackpressureStrategy::DiscardData).create()?;
    let notifier = events.notifier_builder().create()?;
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        let until = Instant::now() + PATIENCE;
        // Repeats the send until a receiver has subscribed and has room.
        while send_one(&publisher)? == 0 {
            if Instant::now() > until {
                return Err("no receiver takes messages".into());
            }
            sleep(Duration::from_millis(1));
        }
        notifier.notify()?;
    }
    println!("sent {COUNT} messages");
    Ok(())
}

/// Writes a message into shared memory. Returns the number of receivers that got the message.
fn send_one(publisher: &Publisher<ipc::Service, [u8], ()>) -> Result<usize, Box<dyn Error>> {
    let sample = publisher.loan_slice_uninit(PAYLOAD_BYTES)?;
    Ok(sample.write_from_fn(|_| 0).send()?)
}

fn receive() -> Result<(), Box<dyn Error>> {
    let (messages, events) = open_services()?;
    let listener = events.listener_builder().create()?;
    let subscriber = messages.subscriber_builder().create()?;
    println!("ready");
    let (mut count, mut until) = (0, Instant::now() + PATIENCE);
    while count < COUNT && Instant::now() < until {
        listener.timed_wait(|_| {}, Duration::from_millis(100))?;
        while let Some(sample) = subscriber.receive()? {
            count += u32::from(sample.payload().len() == PAYLOAD_BYTES);
            until = Instant::now() + PATIENCE;
        }
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("send") { send() } else { receive() }
}
