//! Tests the C ABI with an adapter that is written in Rust but uses only the C interface.

use std::ffi::{c_char, c_void};
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hopmeter_instrument::contract::{Fill, Link, Publisher, Received, Sent, Setup, Shared, Subscriber, Transport};
use hopmeter_instrument::spec::{MessageType, PayloadKind, Wait};

use crate::abi::{self, Text};
use crate::calls;
use crate::pubsub::{CPublisher, CSubscriber, CSubscription};
use crate::transport::CTransport;

/// The object of every link end in these tests: a counter of how often the link end was closed.
type Closed = AtomicUsize;

extern "C" fn close(object: *mut c_void) {
    unsafe { &*object.cast::<Closed>() }.fetch_add(1, Ordering::Relaxed);
}

fn object(closed: &Closed) -> *mut c_void {
    (&raw const *closed).cast_mut().cast()
}

const FRAME: [u8; 66] = [7; 66];

extern "C" fn send(_: *mut c_void, payload_bytes: usize, fill: abi::Fill, error: *const abi::Error) -> i32 {
    match payload_bytes {
        0 => abi::BUSY,
        1 => {
            let error = unsafe { &*error };
            (error.put)(error.context, Text::lend("no cable"), Text::lend("plug it in"));
            abi::FAILED
        }
        2 => abi::FAILED,
        _ => {
            let mut frame = vec![0; abi::HEADER_BYTES + payload_bytes];
            let (header, payload) = frame.split_at_mut(abi::HEADER_BYTES);
            (fill.call)(
                fill.context,
                abi::FrameMut { header: header.as_mut_ptr(), payload: payload.as_mut_ptr(), payload_bytes },
            );
            assert!(frame.iter().all(|byte| *byte == 9), "the whole frame is filled");
            abi::ACCEPTED
        }
    }
}

extern "C" fn poll(_: *mut c_void, timeout_ns: i64, take: abi::Take, _: *const abi::Error) -> i64 {
    assert_eq!(timeout_ns, 1_500_000);
    let received = loaned_frame();
    (take.call)(take.context, &received);
    (take.call)(take.context, &received);
    2
}

fn loaned_frame() -> abi::Received {
    abi::Received {
        header: FRAME.as_ptr(),
        header_bytes: abi::HEADER_BYTES,
        payload: FRAME[abi::HEADER_BYTES..].as_ptr(),
        payload_bytes: 2,
        native: FRAME.as_ptr().cast(),
        keep: None,
        arrived_ns: 0,
    }
}

extern "C" fn forward(_: *mut c_void, received: *const abi::Received, _: *const abi::Error) -> i32 {
    assert_eq!(unsafe { &*received }.native, FRAME.as_ptr().cast());
    abi::ACCEPTED
}

static PLAIN: calls::PublisherCalls =
    calls::PublisherCalls { close, address: None, send, send_parts: None, forward: None };
static MOVING: calls::PublisherCalls =
    calls::PublisherCalls { close, address: None, send, send_parts: None, forward: Some(forward) };
static POLLED: calls::SubscriberCalls = calls::SubscriberCalls { close, poll };

fn publisher(closed: &Closed, calls: &'static calls::PublisherCalls) -> Box<CPublisher> {
    CPublisher::adopt(calls::Publisher { object: object(closed), calls }).expect("an object and a table")
}

fn subscriber(closed: &Closed) -> Box<CSubscriber> {
    CSubscriber::adopt(calls::Subscriber { object: object(closed), calls: &POLLED }).expect("an object and a table")
}

fn fill_nines(frame: hopmeter_instrument::FrameMut<'_>) {
    frame.header.fill(9);
    frame.payload.fill(9);
}

#[test]
fn a_send_is_accepted_busy_or_failed_with_its_remedy() {
    let closed = Closed::default();
    let mut publisher = publisher(&closed, &PLAIN);
    assert_eq!(publisher.send(3, Fill::copied_message(&mut fill_nines)).expect("sent"), Sent::Accepted);
    assert_eq!(publisher.send(0, Fill::copied_message(&mut fill_nines)).expect("refused"), Sent::Busy);
    let error = publisher.send(1, Fill::copied_message(&mut fill_nines)).expect_err("failed");
    assert_eq!((error.what_text().as_str(), error.remedy_text()), ("no cable", Some("plug it in")));
    let error = publisher.send(2, Fill::copied_message(&mut fill_nines)).expect_err("failed without a word");
    assert_eq!(error.what_text(), "the adapter failed without an error message");
}

#[test]
fn an_end_is_closed_once() {
    let closed = Closed::default();
    drop(publisher(&closed, &PLAIN));
    assert_eq!(closed.load(Ordering::Relaxed), 1);
}

#[test]
fn a_panic_goes_on_after_the_adapter_has_returned_and_nothing_is_called_meanwhile() {
    let closed = Closed::default();
    let mut seen = 0;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        subscriber(&closed).poll(Duration::from_micros(1500), &mut |_| {
            seen += 1;
            panic!("on the first of two frames");
        })
    }));
    let reason = panicked.expect_err("it goes on");
    assert_eq!(reason.downcast_ref::<&str>(), Some(&"on the first of two frames"));
    assert_eq!((seen, closed.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn a_received_frame_is_moved_on_with_its_native_message() {
    let closed = Closed::default();
    let mut publisher = publisher(&closed, &MOVING);
    let taken = subscriber(&closed).poll(Duration::from_micros(1500), &mut |received| {
        assert_eq!(publisher.forward(&received).expect("moved"), Sent::Accepted);
    });
    assert_eq!(taken.expect("polled"), 2);
}

#[test]
fn what_an_adapter_leaves_out_is_done_by_copy() {
    let closed = Closed::default();
    let mut publisher = publisher(&closed, &PLAIN);
    let payload: Shared = Arc::new([9_u8; 5]);
    assert_eq!(publisher.send_parts(&[9; abi::HEADER_BYTES], &payload).expect("copied"), Sent::Accepted);
    assert_eq!(Arc::strong_count(&payload), 1, "it is given back");
    let received = Received { payload: &[9; 4], ..Received::split(&[9; abi::HEADER_BYTES]) };
    assert_eq!(publisher.forward(&received).expect("copied"), Sent::Accepted);
}

#[test]
fn frames_of_an_adapter_that_cannot_keep_are_kept_as_copies() {
    let mut kept = None;
    crate::frames::CReceived::new(&abi::Received { keep: Some(keep_nothing), ..loaned_frame() })
        .show(|received| kept = received.keep.map(|keep| keep.keep()));
    assert_eq!((*kept.expect("there is a keep")).as_ref(), FRAME);
}

extern "C" fn keep_nothing(_: *const c_void) -> abi::FrameHolder {
    abi::FrameHolder { handle: std::ptr::null_mut(), data: std::ptr::null(), bytes: 0, release: None }
}

#[test]
fn nothing_where_an_end_was_asked_for_is_an_error() {
    let nothing = calls::Subscription { object: std::ptr::null_mut(), calls: std::ptr::null() };
    let error = CSubscription::adopt(nothing).err().expect("refused");
    assert_eq!(error.what_text(), "the adapter returned null, although a Subscription was requested");
}

static TRANSPORT: calls::TransportCalls = calls::TransportCalls {
    close: close_nothing,
    version: tell_version,
    publisher: None,
    subscriber: None,
    subscribe: None,
    server: None,
    client: None,
    facts: None,
};

extern "C" fn tell_version(_: *mut c_void, out: *const abi::TextOut) {
    let out = unsafe { &*out };
    (out.put)(out.context, Text::lend("4.2"));
}

extern "C" fn version(_: *const abi::TextOut) {}

extern "C" fn close_nothing(_: *mut c_void) {}

/// Opening succeeds only if the adapter receives the settings that `setup` defines.
extern "C" fn open(setup: *const abi::Setup, out: *mut calls::Transport, error: *const abi::Error) -> i32 {
    let setup = unsafe { &*setup };
    let mut depth = 0_i64;
    let name: *const c_char = c"depth".as_ptr();
    let read = unsafe { crate::settings::hopmeter_setting_integer(setup.settings, name, &mut depth, error) };
    assert_eq!((setup.broker.to_owned_text().as_str(), setup.run.to_owned_text().as_str()), ("here", "00"));
    assert_eq!(
        (setup.bind.to_owned_text().as_str(), setup.advertised.to_owned_text().as_str()),
        ("0.0.0.0", "10.0.0.7")
    );
    assert_eq!(setup.largest_frame_bytes, 66);
    unsafe { *out = calls::Transport { object: (&raw mut *out).cast(), calls: &TRANSPORT } };
    if read == abi::ACCEPTED {
        assert_eq!(depth, 8)
    }
    read
}

fn open_transport(settings: serde_json::Value) -> hopmeter_instrument::Result<CTransport> {
    let text = c"t".as_ptr();
    let adapter = calls::Adapter {
        abi: abi::ABI_VERSION,
        transport: text,
        compiler: text,
        flags: text,
        version,
        open,
        open_empty: open,
    };
    let settings = settings.as_object().expect("an object").clone();
    CTransport::open(
        adapter.open,
        &Setup {
            run: "00".into(),
            directory: "/".into(),
            broker: "here".into(),
            bind: Ipv4Addr::UNSPECIFIED,
            advertised: Ipv4Addr::new(10, 0, 0, 7),
            settings,
            largest_frame_bytes: 66,
        },
    )
}

fn link() -> Link {
    Link {
        name: "x".into(),
        address: String::new(),
        receivers: 1,
        payload: PayloadKind::Image { width: 2, height: 3 },
        frame_bytes: 66,
        wait: Wait::Spin,
        message: None,
    }
}

#[test]
fn a_link_crosses_with_its_own_payload_size_and_wait() {
    let link = link();
    let lent = crate::transport::lend(&link);
    assert_eq!((lent.name.to_owned_text().as_str(), lent.receivers), ("x", 1));
    assert_eq!((lent.payload, lent.width, lent.height), (abi::PayloadKind::Image, 2, 3));
    assert_eq!((lent.frame_bytes, lent.wait), (66, abi::Wait::Spin));
    assert_eq!(lent.message_type.to_owned_text(), "");
}

#[test]
fn a_link_crosses_with_the_type_of_its_messages() {
    let message = MessageType { name: "a/msg/B".into(), code: "/c".into(), object: "/d".into() };
    let link = Link { message: Some(message), ..link() };
    let lent = crate::transport::lend(&link);
    let texts = [lent.message_type, lent.message_code, lent.message_object].map(|text| text.to_owned_text());
    assert_eq!(texts, ["a/msg/B", "/c", "/d"]);
}

#[test]
fn a_transport_says_what_it_offers_and_reads_its_settings() {
    let transport = open_transport(serde_json::json!({"depth": 8})).expect("opened");
    assert_eq!(transport.version().as_deref(), Some("4.2"));
    let link = link();
    let error = transport.publisher(&link).err().expect("it has none");
    assert_eq!(error.what_text(), "the adapter does not implement publisher (needed for link x)");
}

#[test]
fn a_setting_that_is_missing_or_of_another_type_says_which() {
    let missing = open_transport(serde_json::json!({})).err().expect("missing");
    assert_eq!(missing.what_text(), "the setting `depth` is unknown");
    assert!(missing.remedy_text().is_some());
    let other = open_transport(serde_json::json!({"depth": "deep"})).err().expect("of another type");
    assert!(other.what_text().starts_with("the setting `depth` = \"deep\""), "{other}");
}

#[test]
fn a_copy_that_the_adapter_asks_for_is_counted() {
    let counted = hopmeter_instrument::contract::copies_made();
    let (mut header, mut payload) = ([0; abi::HEADER_BYTES], [0; 2]);
    let to = abi::FrameMut { header: header.as_mut_ptr(), payload: payload.as_mut_ptr(), payload_bytes: 2 };
    unsafe { crate::frames::hopmeter_copy(&loaned_frame(), to) };
    assert_eq!((header, payload), ([7; abi::HEADER_BYTES], [7; 2]));
    assert_eq!(hopmeter_instrument::contract::copies_made(), counted + 1);
}
