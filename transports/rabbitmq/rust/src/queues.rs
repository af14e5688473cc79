//! A channel and its exchanges and queues.

use hopmeter_instrument::prelude::*;
use hopmeter_tokio::Runtime;
use lapin::options::{
    BasicConsumeOptions, BasicQosOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{Consumer, ExchangeKind};

/// A channel, which lapin closes when the last clone is dropped.
#[derive(Clone)]
pub struct Channel {
    pub runtime: Runtime,
    pub raw: lapin::Channel,
}

impl Channel {
    /// Declares a fanout exchange, which passes each message to the queues of all subscribers.
    pub fn declare_exchange(&self, name: &str, durable: bool) -> Result<()> {
        let options = ExchangeDeclareOptions { durable, ..Default::default() };
        let declared = self.raw.exchange_declare(name.into(), ExchangeKind::Fanout, options, FieldTable::default());
        self.runtime.block_on(declared).context("declaring an exchange")
    }

    /// Declares a queue that the broker deletes when its receiver disconnects, and returns the queue's name. If `name`
    /// is empty, the broker chooses the queue's name.
    pub fn declare_queue(&self, name: &str, durable: bool) -> Result<String> {
        let options = QueueDeclareOptions { durable, exclusive: !durable, auto_delete: true, ..Default::default() };
        let declared = self.raw.queue_declare(name.into(), options, FieldTable::default());
        Ok(self.runtime.block_on(declared).context("declaring a queue")?.name().to_string())
    }

    pub fn bind(&self, queue: &str, exchange: &str) -> Result<()> {
        let (options, arguments) = (QueueBindOptions::default(), FieldTable::default());
        let bound = self.raw.queue_bind(queue.into(), exchange.into(), "".into(), options, arguments);
        self.runtime.block_on(bound).context("binding a queue")
    }

    pub fn request_confirms(&self) -> Result<()> {
        let selected = self.raw.confirm_select(ConfirmSelectOptions::default());
        self.runtime.block_on(selected).context("requesting publisher confirms")
    }

    /// Starts receiving from a queue. The broker sends at most `prefetch` unacknowledged messages at a time; 0 means no
    /// limit.
    pub fn consume(&self, queue: &str, acknowledges: bool, prefetch: u16) -> Result<Consumer> {
        let consuming = async {
            if prefetch > 0 {
                self.raw.basic_qos(prefetch, BasicQosOptions::default()).await?;
            }
            let options = BasicConsumeOptions { no_ack: !acknowledges, ..Default::default() };
            self.raw.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await
        };
        self.runtime.block_on(consuming).context("subscribing at RabbitMQ")
    }
}
