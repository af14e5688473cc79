//! A link end over the shm transport's ring.

use std::io::{BufRead, Write};
use std::time::Duration;

use hopmeter_shm::{Consumer, Options, Producer, WhenFull};

use crate::Result;
use crate::pingpong::{End, Plan, exchange};

/// The length of every frame's header.
const HEADER_BYTES: usize = 64;
const SLOTS: u32 = 16;
const NAP: Duration = Duration::from_millis(100);

pub struct Ring {
    producer: Producer,
    consumer: Consumer,
    payload_bytes: usize,
}

impl Ring {
    pub fn open(plan: &Plan, sends: &str, receives: &str, to: &mut dyn Write, from: &mut dyn BufRead) -> Result<Self> {
        let payload_bytes = plan.frame_bytes - HEADER_BYTES;
        let options = Options { slots: SLOTS, payload_bytes: payload_bytes as u64, when_full: WhenFull::Busy };
        let producer = Producer::open(sends, &options)?;
        let address = exchange(producer.address(), to, from)?;
        let consumer = Consumer::connect(&address, receives, plan.blocks)?;
        exchange("connected", to, from)?;
        Ok(Self { producer, consumer, payload_bytes })
    }
}

impl End for Ring {
    fn send(&mut self, number: u64) -> Result<()> {
        let mut loan = self.producer.loan(self.payload_bytes)?.ok_or("the ring is full")?;
        loan.frame().0[..8].copy_from_slice(&number.to_le_bytes());
        loan.publish();
        Ok(())
    }

    fn look(&mut self) -> Result<Option<u64>> {
        let mut number = None;
        self.consumer.receive(|header, _| number = header.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)))?;
        Ok(number)
    }

    fn sleep(&mut self) {
        self.consumer.sleep(NAP);
    }
}
