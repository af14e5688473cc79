//! Sends messages with MQTT through its broker: start `example receive`, then `example send` in a second terminal.

use std::error::Error;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use rumqttc::{Client, Connection, Event, MqttOptions, Outgoing, Packet, QoS};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:1883";
const QOS: u8 = 0;
const PATIENCE: Duration = Duration::from_secs(10);

/// Creates a client and its connection, which is idle until polled.
fn connect(name: &str) -> Result<(Client, Connection), Box<dyn Error>> {
    let (host, port) = ADDRESS.split_once(':').ok_or("ADDRESS has no port")?;
    let mut options = MqttOptions::new(format!("{TOPIC}-{name}"), host, port.parse()?);
    options.set_max_packet_size(PAYLOAD_BYTES + 1024, PAYLOAD_BYTES + 1024);
    Ok(Client::new(options, 64))
}

fn qos() -> QoS {
    rumqttc::qos(QOS).unwrap_or(QoS::AtMostOnce)
}

fn send() -> Result<(), Box<dyn Error>> {
    let (client, mut connection) = connect("sender")?;
    let is_end = |event: &_| matches!(event, Err(_) | Ok(Event::Outgoing(Outgoing::Disconnect)));
    let exchange = spawn(move || connection.iter().find(is_end));
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        client.publish(TOPIC, qos(), false, vec![0; PAYLOAD_BYTES])?;
    }
    client.disconnect()?;
    if let Ok(Some(Err(cause))) = exchange.join() {
        return Err(cause.into());
    }
    println!("sent {COUNT} messages");
    Ok(())
}

fn receive() -> Result<(), Box<dyn Error>> {
    let (client, mut connection) = connect("receiver")?;
    client.subscribe(TOPIC, qos())?;
    let mut count = 0;
    while count < COUNT {
        let Ok(event) = connection.recv_timeout(PATIENCE) else { break };
        match event? {
            Event::Incoming(Packet::SubAck(_)) => println!("ready"), // the broker has confirmed the subscription
            Event::Incoming(Packet::Publish(message)) => count += u32::from(message.payload.len() == PAYLOAD_BYTES),
            _ => {}
        }
    }
    println!("received {count} messages");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("send") { send() } else { receive() }
}
