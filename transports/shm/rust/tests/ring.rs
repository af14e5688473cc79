//! Tests each guarantee of the ring.

mod support;

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::time::{Duration, Instant};

use hopmeter_shm::{Consumer, MAX_CONSUMERS, Options, Producer, WhenFull};
use rustix::net::{self, AddressFamily, SendFlags, SocketAddrUnix, SocketType};
use support::{LINK, drain, eventually, join, number, ring, send};

#[test]
fn messages_arrive_in_order_and_whole_over_many_rounds() {
    for payload_bytes in [0, 8, 64, 4096, 100_000] {
        let mut producer = ring(5, payload_bytes, WhenFull::Busy);
        let mut consumer = join(&producer);
        for round in 0..40 {
            let sent: Vec<u64> = (round * 3..round * 3 + 3).collect();
            assert!(sent.iter().all(|&n| send(&mut producer, payload_bytes as usize, n)));
            assert_eq!(drain(&mut consumer), sent);
        }
    }
}

#[test]
fn frames_may_be_shorter_than_the_slot_and_no_longer() {
    let mut producer = ring(4, 1000, WhenFull::Busy);
    let mut consumer = join(&producer);
    for payload_bytes in [1000, 0, 16, 504] {
        assert!(send(&mut producer, payload_bytes, 7));
        assert!(consumer.receive(|_, payload| assert_eq!(payload.len(), payload_bytes)).unwrap());
    }
    let error = producer.loan(1001).err().unwrap().to_string();
    assert!(error.contains("1000"), "{error}");
}

#[test]
fn a_full_ring_is_busy_until_the_slowest_has_read() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let (mut quick, mut slow) = (join(&producer), join(&producer));
    assert_eq!((0..10).filter(|&n| send(&mut producer, 64, n)).count(), 3);
    assert_eq!(drain(&mut quick), [0, 1, 2]);
    assert!(!send(&mut producer, 64, 3));
    assert!(slow.receive(|_, _| ()).unwrap());
    assert!(send(&mut producer, 64, 3));
    assert!(!send(&mut producer, 64, 4));
    assert_eq!(drain(&mut slow), [1, 2, 3]);
    assert_eq!(drain(&mut quick), [3]);
}

#[test]
fn a_loan_that_is_not_published_is_void() {
    let mut producer = ring(2, 64, WhenFull::Busy);
    let mut consumer = join(&producer);
    assert!(producer.loan(64).unwrap().is_some());
    assert!(send(&mut producer, 64, 1));
    assert_eq!(drain(&mut consumer), [1]);
}

#[test]
fn nobody_listening_is_no_reason_to_refuse() {
    let mut producer = ring(2, 64, WhenFull::Busy);
    assert!((0..100).all(|n| send(&mut producer, 64, n)));
}

#[test]
fn a_late_joiner_starts_at_the_newest() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let mut early = join(&producer);
    assert!(send(&mut producer, 64, 0) && send(&mut producer, 64, 1));
    let mut late = join(&producer);
    assert!(send(&mut producer, 64, 2));
    assert_eq!(drain(&mut late), [2]);
    assert_eq!(drain(&mut early), [0, 1, 2]);
}

#[test]
fn dropping_loses_the_oldest_and_only_for_those_who_are_behind() {
    let mut producer = ring(4, 64, WhenFull::DropOldest);
    let (mut quick, mut slow) = (join(&producer), join(&producer));
    let mut seen = Vec::new();
    for n in 0..10 {
        assert!(send(&mut producer, 64, n));
        seen.extend(drain(&mut quick));
    }
    assert_eq!(seen, (0..10).collect::<Vec<_>>());
    assert_eq!(drain(&mut slow), [7, 8, 9]);
}

#[test]
fn a_message_being_read_is_never_dropped_under_its_reader() {
    for payload_bytes in [64, 100_000] {
        let mut producer = ring(4, payload_bytes, WhenFull::DropOldest);
        let mut reader = join(&producer);
        assert!(send(&mut producer, payload_bytes as usize, 0));
        let took = reader.receive(|header, payload| {
            assert!((1..30).all(|n| send(&mut producer, payload_bytes as usize, n)));
            assert_eq!(number(header, payload), 0);
        });
        assert!(took.unwrap());
        assert_eq!(drain(&mut reader), [28, 29]);
        assert!((30..60).all(|n| send(&mut producer, payload_bytes as usize, n)));
        assert_eq!(drain(&mut reader), [57, 58, 59]);
    }
}

#[test]
fn with_every_slot_being_read_even_dropping_is_busy() {
    let mut producer = ring(3, 64, WhenFull::DropOldest);
    let (mut one, mut two) = (join(&producer), join(&producer));
    assert!(send(&mut producer, 64, 0));
    let held_by_one = one.claim().unwrap().unwrap();
    assert!(two.claim().unwrap().is_some());
    two.release();
    assert!(send(&mut producer, 64, 1));
    let held_by_two = two.claim().unwrap().unwrap();
    assert_ne!(held_by_one.slot, held_by_two.slot);
    assert!(!send(&mut producer, 64, 2));
    one.release();
    assert!(send(&mut producer, 64, 2));
    two.release();
    assert_eq!(drain(&mut two), [2]);
}

#[test]
fn who_leaves_holds_nothing_up() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let consumer = join(&producer);
    while send(&mut producer, 64, 0) {}
    drop(consumer);
    eventually("the seat is empty", || producer.consumers() == 0);
    assert!(send(&mut producer, 64, 1));
}

#[test]
fn seats_are_for_64_and_given_again() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let mut consumers: Vec<Consumer> = (0..MAX_CONSUMERS).map(|_| join(&producer)).collect();
    let refusal = Consumer::connect(producer.address(), LINK, false).err().unwrap().to_string();
    assert!(refusal.contains("64 seats"), "{refusal}");
    for n in 0..20 {
        assert!(send(&mut producer, 64, n));
        assert!(consumers.iter_mut().all(|consumer| drain(consumer) == [n]));
    }
    consumers.remove(17);
    eventually("a seat is free", || producer.consumers() == 63);
    consumers.push(join(&producer));
    assert!(send(&mut producer, 64, 99));
    assert!(consumers.iter_mut().all(|consumer| drain(consumer) == [99]));
}

#[test]
fn a_sleeper_is_woken_by_a_message_and_by_its_interrupter() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let mut consumer = Consumer::connect(producer.address(), LINK, true).unwrap();
    let interrupter = consumer.interrupter();
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        while !consumer.is_stopped() {
            consumer.sleep(Duration::from_secs(60));
            seen.extend(drain(&mut consumer));
        }
        seen
    });
    for n in 0..200 {
        eventually("there is room", || send(&mut producer, 64, n));
    }
    eventually("all are read", || producer.loan(64).unwrap().is_some());
    std::thread::sleep(Duration::from_millis(20));
    interrupter.interrupt();
    assert_eq!(thread.join().unwrap(), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_sleep_ends_when_its_time_is_over() {
    let producer = ring(4, 64, WhenFull::Busy);
    let consumer = Consumer::connect(producer.address(), LINK, true).unwrap();
    let start = Instant::now();
    consumer.sleep(Duration::from_millis(30));
    let slept = start.elapsed();
    assert!(slept >= Duration::from_millis(25) && slept < Duration::from_secs(10), "{slept:?}");
}

#[test]
fn a_consumer_of_another_link_is_refused_and_told_why() {
    let producer = ring(4, 64, WhenFull::Busy);
    let error = Consumer::connect(producer.address(), "other", false).err().unwrap().to_string();
    assert!(error.contains("this is link test_l0, not other"), "{error}");
    assert_eq!(producer.consumers(), 0);
}

#[test]
fn an_address_where_nobody_is_says_so() {
    let gone = ring(4, 64, WhenFull::Busy).address().to_owned();
    for address in ["", "@", "nonsense", &gone] {
        let error = Consumer::connect(address, LINK, false).err().unwrap().to_string();
        assert!(error.contains("test_l0"), "{error}");
    }
}

#[test]
fn strangers_get_nothing_and_hold_nobody_up() {
    let mut producer = ring(4, 64, WhenFull::Busy);
    let name = SocketAddrUnix::new_abstract_name(&producer.address().as_bytes()[1..]).unwrap();
    let stranger = || {
        let socket = net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        net::connect(&socket, &name).unwrap();
        socket
    };
    let silent: Vec<_> = (0..20).map(|_| stranger()).collect();
    for noise in [&b""[..], b"x", b"GET / HTTP/1.1\r\n\r\n", &[0; 400], b"HOPM-SHM\x02\0\0\0\0\0\0\0test_l0"] {
        net::send(stranger(), noise, SendFlags::NOSIGNAL).unwrap();
    }
    let mut consumer = join(&producer);
    assert_eq!(producer.consumers(), 1);
    assert!(send(&mut producer, 64, 5));
    assert_eq!(drain(&mut consumer), [5]);
    drop(silent);
}

#[test]
fn a_publisher_that_is_none_of_ours_is_refused() {
    let listener = net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    net::bind(&listener, &SocketAddrUnix::new_unnamed()).unwrap();
    net::listen(&listener, 1).unwrap();
    let name = SocketAddrUnix::try_from(net::getsockname(&listener).unwrap()).unwrap();
    let address = format!("@{}", String::from_utf8_lossy(name.abstract_name().unwrap()));
    let imposter = std::thread::spawn(move || {
        let connection = net::accept(&listener).unwrap();
        net::send(&connection, b"HOPM-SHM\x01\0\0\0\x01\0\0\0", SendFlags::NOSIGNAL).unwrap();
        net::recv(&connection, &mut [0; 64][..], net::RecvFlags::empty()).unwrap();
    });
    let error = Consumer::connect(&address, LINK, false).err().unwrap().to_string();
    assert!(error.contains("not one of hopmeter's"), "{error}");
    imposter.join().unwrap();
}

#[test]
fn impossible_rings_are_refused_with_the_remedy() {
    for slots in [0, 1, 100_000] {
        let options = Options { slots, payload_bytes: 64, when_full: WhenFull::Busy };
        let error = Producer::open(LINK, &options).err().unwrap().to_string();
        assert!(error.contains("set `slots` between 2 and 4096"), "{error}");
    }
}

#[test]
fn the_socket_has_no_name_in_the_file_system() {
    let producer = ring(4, 64, WhenFull::Busy);
    let name = producer.address().strip_prefix('@').unwrap();
    assert!(SocketAddr::from_abstract_name(name).is_ok());
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    assert!(sockets.lines().any(|line| line.ends_with(producer.address())));
}
