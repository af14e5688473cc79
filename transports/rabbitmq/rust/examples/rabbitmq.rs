//! Sends messages through RabbitMQ: start `example receive`, then `example send` in a second terminal.
//! For calls, start `example serve`, then `example call`.

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::*;
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, Consumer, ExchangeKind};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until, timeout};

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const ADDRESS: &str = "127.0.0.1:5672";
const ACKNOWLEDGE: bool = true;
const PREFETCH: u16 = 0;
const CONFIRMS: bool = false;
const PERSISTENT: bool = false;
const PATIENCE: Duration = Duration::from_secs(10);
const REPLIES: &str = "amq.rabbitmq.reply-to";

type Outcome = Result<(), Box<dyn Error>>;

async fn declare_exchange(channel: &Channel) -> lapin::Result<()> {
    let options = ExchangeDeclareOptions { durable: PERSISTENT, ..Default::default() };
    channel.exchange_declare(TOPIC.into(), ExchangeKind::Fanout, options, FieldTable::default()).await
}

/// Publishes a message, and waits for the confirmation if the channel requested confirms.
async fn publish(channel: &Channel, exchange: &str, key: &str, body: &[u8], with: BasicProperties) -> Outcome {
    let options = BasicPublishOptions::default();
    channel.basic_publish(exchange.into(), key.into(), options, body, with).await?.await?;
    Ok(())
}

async fn consume(channel: &Channel, queue: &str, acknowledge: bool) -> lapin::Result<Consumer> {
    let options = BasicConsumeOptions { no_ack: !acknowledge, ..Default::default() };
    channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await
}

async fn send(channel: &Channel) -> Outcome {
    declare_exchange(channel).await?;
    if CONFIRMS {
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
    }
    let begin = Instant::now();
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let properties = BasicProperties::default().with_delivery_mode(if PERSISTENT { 2 } else { 1 });
        publish(channel, TOPIC, "", &vec![0; PAYLOAD_BYTES], properties).await?;
    }
    println!("sent {COUNT} messages");
    Ok(())
}

async fn receive(channel: &Channel) -> Outcome {
    declare_exchange(channel).await?;
    let (durable, exclusive) = (PERSISTENT, !PERSISTENT);
    let options = QueueDeclareOptions { durable, exclusive, auto_delete: true, ..Default::default() };
    let queue = channel.queue_declare("".into(), options, FieldTable::default()).await?;
    let (bind, no_arguments) = (QueueBindOptions::default(), FieldTable::default());
    channel.queue_bind(queue.name().clone(), TOPIC.into(), "".into(), bind, no_arguments).await?;
    let mut messages = consume(channel, queue.name().as_str(), ACKNOWLEDGE).await?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(Some(Ok(message))) = timeout(PATIENCE, messages.next()).await else { break };
        count += u32::from(message.data.len() == PAYLOAD_BYTES);
        if ACKNOWLEDGE {
            message.ack(BasicAckOptions::default()).await?;
        }
    }
    println!("received {count} messages");
    Ok(())
}

async fn call(channel: &Channel) -> Outcome {
    let mut replies = consume(channel, REPLIES, false).await?;
    let (mut count, begin) = (0, Instant::now());
    for number in 0..COUNT {
        sleep_until(begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ)).await;
        let properties = BasicProperties::default().with_reply_to(REPLIES.into());
        publish(channel, "", TOPIC, &vec![0; PAYLOAD_BYTES], properties).await?;
        let Ok(Some(reply)) = timeout(PATIENCE, replies.next()).await else { break };
        count += u32::from(reply?.data.len() == PAYLOAD_BYTES);
    }
    println!("received {count} replies");
    Ok(())
}

async fn serve(channel: &Channel) -> Outcome {
    let options = QueueDeclareOptions { exclusive: true, auto_delete: true, ..Default::default() };
    channel.queue_declare(TOPIC.into(), options, FieldTable::default()).await?;
    let mut requests = consume(channel, TOPIC, ACKNOWLEDGE).await?;
    println!("ready");
    let mut count = 0;
    while count < COUNT {
        let Ok(Some(Ok(request))) = timeout(PATIENCE, requests.next()).await else { break };
        let Some(client) = request.properties.reply_to() else { continue };
        publish(channel, "", client.as_str(), &request.data, BasicProperties::default()).await?; // echoes the request
        if ACKNOWLEDGE {
            request.ack(BasicAckOptions::default()).await?;
        }
        count += 1;
    }
    println!("answered {count} calls");
    Ok(())
}

async fn run(side: &str) -> Outcome {
    let connection = Connection::connect(&format!("amqp://{ADDRESS}/%2f"), ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
    match side {
        "send" => send(&channel).await?,
        "call" => call(&channel).await?,
        "serve" => serve(&channel).await?,
        _ => receive(&channel).await?,
    }
    connection.close(200, "".into()).await?;
    Ok(())
}

fn main() -> Outcome {
    Runtime::new()?.block_on(run(&std::env::args().nth(1).unwrap_or_default()))
}
