//! The C ABI of the ring, for C++ and Python; `cpp/hopmeter_shm.h` declares these functions and documents them for
//! callers.
//!
//! Every handle is a pointer from a `Box`. A failing function returns an error value, and stores the error text, which
//! [`hopmeter_shm_error`] returns on the same thread.

use std::ffi::{CString, c_char, c_int};
use std::time::Duration;

use hopmeter_instrument::prelude::*;

use crate::c_results::{close, last_error, last_remedy, or_code, or_null, text};
use crate::{Claimed, Consumer, Interrupter, Options, Producer, WhenFull};

/// The number of bits for the slot in a claim. The slot is in the low bits of a claim, and the payload's length is in
/// the other bits.
const SLOT_BITS: u32 = 16;

/// The name and version of the ring.
#[no_mangle]
pub extern "C" fn hopmeter_shm_version() -> *const c_char {
    concat!("hopmeter-shm ", env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the text of the last failure on this thread, which is valid until the next failure.
#[no_mangle]
pub extern "C" fn hopmeter_shm_error() -> *const c_char {
    last_error()
}

/// Returns the remedy for the last failure on this thread, or an empty text if no remedy is known. The text is valid
/// until the next failure.
#[no_mangle]
pub extern "C" fn hopmeter_shm_remedy() -> *const c_char {
    last_remedy()
}

/// A producer with its address as a C string.
pub struct SharedProducer {
    producer: Producer,
    address: CString,
}

/// # Safety
/// `link` must be a null-terminated string.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_producer_open(
    link: *const c_char,
    slots: u32,
    payload_bytes: u64,
    drop_oldest: c_int,
) -> *mut SharedProducer {
    let when_full = if drop_oldest == 0 { WhenFull::Busy } else { WhenFull::DropOldest };
    or_null(text(link).and_then(|link| {
        let producer = Producer::open(link, &Options { slots, payload_bytes, when_full })?;
        let address = CString::new(producer.address()).context("the ring's address")?;
        Ok(SharedProducer { producer, address })
    }))
}

/// # Safety
/// `producer` must be open; this rule applies to all functions that take a producer.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_producer_address(producer: *const SharedProducer) -> *const c_char {
    (*producer).address.as_ptr()
}

/// # Safety
/// Like [`hopmeter_shm_producer_address`].
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_producer_frame(producer: *const SharedProducer, slot: u32) -> *mut u8 {
    (*producer).producer.frame_at(slot as u16)
}

/// # Safety
/// Like [`hopmeter_shm_producer_address`]; only one thread at a time may call this function.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_producer_reserve(producer: *mut SharedProducer, payload_bytes: u64) -> i64 {
    let producer = &mut (*producer).producer;
    or_code(producer.reserve(payload_bytes as usize).map(|free| free.then(|| i64::from(producer.slot()))))
}

/// # Safety
/// Like [`hopmeter_shm_producer_reserve`], which must just have returned a slot for this length.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_producer_publish(producer: *mut SharedProducer, payload_bytes: u64) {
    (*producer).producer.publish(payload_bytes as usize);
}

/// # Safety
/// `producer` must be open or null, and must not be used after this call.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_producer_close(producer: *mut SharedProducer) {
    close(producer);
}

/// A consumer, and the handle by which another thread interrupts its sleep.
pub struct SharedConsumer {
    consumer: Consumer,
    interrupter: Interrupter,
}

/// # Safety
/// `address` and `link` must be null-terminated strings.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_connect(
    address: *const c_char,
    link: *const c_char,
    may_sleep: c_int,
) -> *mut SharedConsumer {
    or_null(text(address).and_then(|address| {
        let consumer = Consumer::connect(address, text(link)?, may_sleep != 0)?;
        let interrupter = consumer.interrupter();
        Ok(SharedConsumer { consumer, interrupter })
    }))
}

/// # Safety
/// `consumer` must be connected; this rule applies to all functions that take a consumer.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_frame(consumer: *const SharedConsumer, slot: u32) -> *const u8 {
    (*consumer).consumer.frame_at(slot as u16)
}

/// # Safety
/// Like [`hopmeter_shm_consumer_frame`]; only one thread at a time may call this function.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_claim(consumer: *mut SharedConsumer) -> i64 {
    let word = |claimed: Claimed| (claimed.payload_bytes as i64) << SLOT_BITS | i64::from(claimed.slot);
    or_code((*consumer).consumer.claim().map(|claimed| claimed.map(word)))
}

/// # Safety
/// Like [`hopmeter_shm_consumer_claim`].
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_release(consumer: *mut SharedConsumer) {
    (*consumer).consumer.release();
}

/// # Safety
/// Like [`hopmeter_shm_consumer_claim`]; during the call, only [`hopmeter_shm_consumer_interrupt`] may be called.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_sleep(consumer: *const SharedConsumer, timeout_ns: u64) {
    (*consumer).consumer.sleep(Duration::from_nanos(timeout_ns));
}

/// # Safety
/// Like [`hopmeter_shm_consumer_sleep`].
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_await(consumer: *mut SharedConsumer, timeout_ns: u64) -> i64 {
    hopmeter_shm_consumer_sleep(consumer, timeout_ns);
    hopmeter_shm_consumer_claim(consumer)
}

/// # Safety
/// Like [`hopmeter_shm_consumer_frame`]; any thread may call this function.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_interrupt(consumer: *const SharedConsumer) {
    (*consumer).interrupter.interrupt();
}

/// # Safety
/// `consumer` must be connected or null, and must not be used after this call.
#[no_mangle]
pub unsafe extern "C" fn hopmeter_shm_consumer_close(consumer: *mut SharedConsumer) {
    close(consumer);
}
