//! Tests the exchange over the loopback device with known clocks, and with datagrams that do not belong to this run.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use super::asker::measure_with_clock;
use super::packet::{BYTES, Kind, Packet};
use super::{Batch, Clock, Exchange, Request, Responder, Token, host_clock, measure_batch};

const TOKEN: Token = *b"token of one run";
const AHEAD_NS: i64 = 1_000_000_000_000;

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn request(responder: &Responder) -> Request {
    Request { responder: responder.address(), token: TOKEN, exchanges: 50, patience: Duration::from_secs(2) }
}

fn batch_with(asker: Clock, responder: Clock) -> Batch {
    let responder = Responder::with_clock(anywhere(), TOKEN, responder).unwrap();
    measure_with_clock(&request(&responder), asker).unwrap()
}

/// The range of offsets that are consistent with one exchange.
fn possible(exchange: &Exchange) -> std::ops::RangeInclusive<i64> {
    let error_ns = exchange.error_ns;
    exchange.sent_ns - exchange.answered_ns - error_ns..=exchange.received_ns - exchange.asked_ns + error_ns
}

/// A clock that is far ahead and runs 300 parts per million fast, which is the worst drift of two uncorrected clocks.
fn fast(monotonic_ns: i64) -> i64 {
    monotonic_ns + monotonic_ns / 10_000 * 3 + AHEAD_NS
}

#[test]
fn the_clock_of_this_host_has_no_offset_to_itself() {
    let batch = batch_with(host_clock, host_clock);
    assert_eq!((batch.asked, batch.answered, batch.impossible), (50, 50, 0));
    assert!(batch.best.iter().all(|exchange| possible(exchange).contains(&0)), "{batch:?}");
    assert!(batch.best.is_sorted_by_key(Exchange::round_trip_ns));
    assert!(batch.best[0].round_trip_ns() <= batch.median_round_trip_ns);
}

#[test]
fn a_fast_clock_is_found_within_the_bounds_at_either_end() {
    for exchange in batch_with(host_clock, fast).best {
        let middle_ns = exchange.asked_ns + (exchange.answered_ns - exchange.asked_ns) / 2;
        assert!(possible(&exchange).contains(&(fast(middle_ns) - middle_ns)), "{exchange:?}");
    }
    for exchange in batch_with(fast, host_clock).best {
        let middle_ns = exchange.received_ns + (exchange.sent_ns - exchange.received_ns) / 2;
        assert!(possible(&exchange).contains(&(middle_ns - fast(middle_ns))), "{exchange:?}");
    }
}

#[test]
fn a_responder_that_is_gone_is_an_error_and_so_is_another_token() {
    let responder = Responder::start(anywhere(), TOKEN).unwrap();
    let mut request = Request { patience: Duration::from_millis(2), ..request(&responder) };
    request.token = [0; 16];
    let error = measure_batch(&request).unwrap_err().to_string();
    assert!(error.contains("no request was answered"), "{error}");
    assert!(responder.counts().ignored >= 1 && responder.counts().answered == 0, "{:?}", responder.counts());
    drop(responder);
    let error = measure_batch(&request).unwrap_err().to_string();
    assert!(error.contains("cannot reach"), "{error}");
}

fn stranger() -> UdpSocket {
    let socket = UdpSocket::bind(anywhere()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    socket
}

#[test]
fn hostile_datagrams_get_no_answer_and_the_responder_survives() {
    let responder = Responder::start(anywhere(), TOKEN).unwrap();
    let socket = stranger();
    let good = Packet::request(TOKEN, 7).encode();
    let reply = Packet { kind: Kind::Reply, ..Packet::request(TOKEN, 7) }.encode();
    let other_run = Packet::request([9; 16], 7).encode();
    let long = [&good[..], &[0; 60_000]].concat();
    for hostile in [&[][..], &good[..BYTES - 1], &long, &reply, &other_run, &[0xff; BYTES]] {
        socket.send_to(hostile, responder.address()).unwrap();
    }
    assert!(socket.recv(&mut [0; 2048]).is_err(), "nothing may be answered");
    assert_eq!(responder.counts().answered, 0);
    assert_eq!(measure_batch(&request(&responder)).unwrap().answered, 50);
}

#[test]
fn a_repeated_request_gets_no_more_bytes_than_it_has() {
    let responder = Responder::start(anywhere(), TOKEN).unwrap();
    let socket = stranger();
    for _ in 0..3 {
        socket.send_to(&Packet::request(TOKEN, 7).encode(), responder.address()).unwrap();
        assert_eq!(socket.recv(&mut [0; 2048]).unwrap(), BYTES);
    }
    assert!(socket.recv(&mut [0; 2048]).is_err(), "one reply for one request");
}

#[test]
fn a_flood_takes_a_small_part_of_a_core_and_the_responder_answers_afterwards() {
    let responder = Responder::start(anywhere(), TOKEN).unwrap();
    let (socket, begun_ns) = (stranger(), crate::clock::now_ns());
    while crate::clock::now_ns() - begun_ns < 600_000_000 {
        let _ = socket.send_to(&[1; BYTES], responder.address());
    }
    let (handled, took_ns) = (responder.counts().ignored, crate::clock::now_ns() - begun_ns);
    assert!(handled <= 2000 + took_ns as u64 / 200_000 + 1, "{handled} in {took_ns} ns");
    let request = Request { patience: Duration::from_millis(500), ..request(&responder) };
    assert!(measure_batch(&request).unwrap().answered > 0);
}

#[test]
fn replies_that_no_request_awaits_are_ignored() {
    let forger = UdpSocket::bind(anywhere()).unwrap();
    let address = forger.local_addr().unwrap();
    let forge = std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        let (length, asker) = forger.recv_from(&mut bytes).unwrap();
        let asked = Packet::decode(&bytes[..length], Kind::Request, &TOKEN).unwrap();
        let reply = Packet { kind: Kind::Reply, received_ns: i64::MAX, sent_ns: i64::MIN, ..asked };
        for forged in [Packet { number: asked.number - 1, ..reply }, Packet { token: [0; 16], ..reply }] {
            forger.send_to(&forged.encode(), asker).unwrap();
        }
        forger.send_to(&reply.encode(), asker).unwrap();
    });
    let request = Request { responder: address, token: TOKEN, exchanges: 1, patience: Duration::from_secs(10) };
    let error = measure_batch(&request).unwrap_err().to_string();
    assert!(error.contains("contradict"), "{error}");
    forge.join().unwrap();
}

/// An idle responder must not wake up, because each wake-up disturbs a trial.
#[test]
fn an_idle_responder_sleeps() {
    let responder = Responder::start(anywhere(), TOKEN).unwrap();
    assert_eq!(measure_batch(&request(&responder)).unwrap().answered, 50);
    let pause = || crate::clock::sleep_until(crate::clock::now_ns() + 100_000_000);
    pause(); // the thread reads the timestamp of its last reply
    let before = responder.counts();
    pause();
    assert_eq!(responder.counts(), before);
}
