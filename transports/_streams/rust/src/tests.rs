//! Unit tests of stream sockets: fragmented frames, slow receivers and invalid bytes.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hopmeter_instrument::frame::HEADER_BYTES;
use hopmeter_instrument::spec::PayloadKind;
use hopmeter_instrument::{Context, Fill, FrameMut, Received, Replier, Sent};
use rustix::net::{AddressFamily, SocketAddrUnix, bind, connect, listen};

use super::*;
use crate::subscriber::StreamSubscriber;

const FRAME_BYTES: usize = 100_000;

struct Files(tempfile::TempDir);

impl Family for Files {
    fn path(&self) -> String {
        "Unix sockets".into()
    }

    fn listen(&self, link: &Link) -> Result<(OwnedFd, String)> {
        let path = self.0.path().join(&link.name);
        let listener = socket(AddressFamily::UNIX)?;
        bind(&listener, &SocketAddrUnix::new(&path).context("path")?).context("bind")?;
        listen(&listener, 8).context("listen")?;
        Ok((listener, path.display().to_string()))
    }

    fn configure_accepted(&self, _connection: &OwnedFd) -> Result<()> {
        Ok(())
    }

    fn connect(&self, address: &str) -> Result<OwnedFd> {
        let connection = socket(AddressFamily::UNIX)?;
        connect(&connection, &SocketAddrUnix::new(address).context("path")?).context("connect")?;
        Ok(connection)
    }
}

fn streams() -> Streams<Files> {
    Streams::new(Files(tempfile::tempdir().unwrap()))
}

fn link(address: String) -> Link {
    link_waiting(address, Wait::Block)
}

fn link_waiting(address: String, wait: Wait) -> Link {
    Link {
        name: "l0".into(),
        address,
        receivers: 1,
        payload: PayloadKind::Bytes,
        frame_bytes: FRAME_BYTES,
        wait,
        message: None,
    }
}

fn send(publisher: &mut dyn Publisher, payload_bytes: usize, mark: u8) -> Sent {
    let mut write = |frame: FrameMut<'_>| {
        frame.header.fill(mark);
        frame.payload.fill(mark);
    };
    publisher.send(payload_bytes, Fill::copied_message(&mut write)).unwrap()
}

/// Sends until the receiver has connected and received a message.
fn send_until_received(publisher: &mut dyn Publisher, subscriber: &mut dyn Subscriber) {
    let begin = Instant::now();
    loop {
        send(publisher, 0, 0);
        if subscriber.poll(Duration::from_millis(20), &mut |_| {}).unwrap() > 0 {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(5), "nothing arrived");
    }
}

fn prefix(length: u64) -> [u8; PREFIX_BYTES] {
    let mut bytes = [0; PREFIX_BYTES];
    bytes[..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn subscriber_of(reader: UnixStream) -> StreamSubscriber {
    StreamSubscriber::new(Arc::new(Connection::new(reader.into(), false)), Wait::Spin, FRAME_BYTES)
}

#[test]
fn frames_cut_anywhere_arrive_whole() {
    let mut bytes = Vec::new();
    for mark in 1..=20_u8 {
        let length = HEADER_BYTES + 37 * usize::from(mark);
        bytes.extend(prefix(length as u64));
        bytes.extend(std::iter::repeat_n(mark, length));
    }
    for piece in [1, 7, 128, 1000, bytes.len()] {
        let (mut writer, reader) = UnixStream::pair().unwrap();
        let mut subscriber = subscriber_of(reader);
        let mut marks = Vec::new();
        for part in bytes.chunks(piece) {
            writer.write_all(part).unwrap();
            let mut take = |frame: hopmeter_instrument::Received<'_>| {
                assert_eq!(frame.payload.len(), 37 * usize::from(frame.header[0]));
                assert!(frame.payload.iter().all(|byte| *byte == frame.header[0]));
                marks.push(frame.header[0]);
            };
            while subscriber.poll(Duration::ZERO, &mut take).unwrap() > 0 {}
        }
        assert_eq!(marks, (1..=20).collect::<Vec<u8>>(), "in pieces of {piece}");
    }
}

#[test]
fn an_absurd_length_is_an_error_and_a_short_frame_is_handed_over() {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    let mut subscriber = subscriber_of(reader);
    writer.write_all(&prefix(3)).unwrap();
    writer.write_all(&[1, 2, 3]).unwrap();
    let mut header_bytes = 0;
    subscriber.poll(Duration::ZERO, &mut |frame| header_bytes = frame.header.len()).unwrap();
    assert_eq!(header_bytes, 3);
    writer.write_all(&prefix(u64::MAX)).unwrap();
    assert!(subscriber.poll(Duration::ZERO, &mut |_| {}).is_err());
}

#[test]
fn a_slow_receiver_makes_it_busy_and_loses_nothing() {
    let transport = streams();
    let mut publisher = transport.publisher(&link(String::new())).unwrap();
    let mut subscriber = transport.subscriber(&link(publisher.address())).unwrap();
    send_until_received(publisher.as_mut(), subscriber.as_mut());

    let mut accepted = 0_u8;
    while send(publisher.as_mut(), FRAME_BYTES - HEADER_BYTES, accepted + 1) == Sent::Accepted {
        accepted += 1;
        assert!(accepted < 200, "never busy");
    }
    let mut marks = Vec::new();
    let begin = Instant::now();
    while marks.len() < usize::from(accepted) && begin.elapsed() < Duration::from_secs(5) {
        subscriber
            .poll(Duration::from_millis(10), &mut |frame| {
                if frame.header[0] > 0 {
                    assert!(frame.payload.iter().all(|byte| *byte == frame.header[0]));
                    marks.push(frame.header[0]);
                }
            })
            .unwrap();
    }
    assert_eq!(marks, (1..=accepted).collect::<Vec<u8>>());
}

#[test]
fn a_receiver_that_left_does_not_stop_the_others() {
    let transport = streams();
    let mut publisher = transport.publisher(&link(String::new())).unwrap();
    let mut first = transport.subscriber(&link(publisher.address())).unwrap();
    let mut second = transport.subscriber(&link(publisher.address())).unwrap();
    send_until_received(publisher.as_mut(), first.as_mut());
    drop(first);
    send_until_received(publisher.as_mut(), second.as_mut());
    send_until_received(publisher.as_mut(), second.as_mut());
}

/// Sends a request that the server returns unchanged. Returns the marks in the payloads of the received replies.
fn call(client: &mut dyn Client, server: &mut dyn Server, mark: u8) -> Vec<u8> {
    let begin = Instant::now();
    let sent = client.start(100, Fill::copied_message(&mut |frame| frame.payload.fill(mark))).unwrap();
    assert_eq!(sent, Sent::Accepted);
    let mut marks = Vec::new();
    while marks.is_empty() && begin.elapsed() < Duration::from_secs(5) {
        let answered = server.poll(Duration::from_millis(5), &mut |request, replier| {
            assert_eq!(replier.forward(&request).unwrap(), Sent::Accepted);
        });
        answered.unwrap();
        client.poll(Duration::from_millis(5), &mut |reply| marks.push(reply.payload[0])).unwrap();
    }
    marks
}

#[test]
fn a_server_answers_each_client_on_its_own_connection_and_forgets_those_that_left() {
    for wait in [Wait::Block, Wait::Spin] {
        let transport = streams();
        let mut server = transport.server(&link_waiting(String::new(), wait)).unwrap();
        let mut first = transport.client(&link_waiting(server.address(), wait)).unwrap();
        assert_eq!(call(first.as_mut(), server.as_mut(), 1), [1]);
        let mut second = transport.client(&link_waiting(server.address(), wait)).unwrap();
        assert_eq!(call(second.as_mut(), server.as_mut(), 2), [2]);
        assert_eq!(call(first.as_mut(), server.as_mut(), 3), [3]);
        drop(first);
        assert_eq!(call(second.as_mut(), server.as_mut(), 4), [4]);
        let mut third = transport.client(&link_waiting(server.address(), wait)).unwrap();
        assert_eq!(call(third.as_mut(), server.as_mut(), 5), [5]);
    }
}

#[test]
fn a_client_that_reads_no_replies_makes_the_server_busy_and_loses_nothing() {
    let transport = streams();
    let mut server = transport.server(&link(String::new())).unwrap();
    let mut client = transport.client(&link(server.address())).unwrap();
    assert_eq!(call(client.as_mut(), server.as_mut(), 0), [0]);

    client.start(0, Fill::copied_message(&mut |_| {})).unwrap();
    let mut accepted = 0_u8;
    let mut flood = |_: Received<'_>, replier: &mut dyn Replier| {
        let mut reply = |mark| {
            let mut write = |frame: FrameMut<'_>| frame.payload.fill(mark);
            replier.reply(FRAME_BYTES - HEADER_BYTES, Fill::copied_message(&mut write))
        };
        while reply(accepted + 1).unwrap() == Sent::Accepted {
            accepted += 1;
            assert!(accepted < 200, "never busy");
        }
    };
    while server.poll(Duration::from_millis(5), &mut flood).unwrap() == 0 {}
    let (mut marks, begin) = (Vec::new(), Instant::now());
    while marks.len() < usize::from(accepted) && begin.elapsed() < Duration::from_secs(5) {
        server.poll(Duration::from_millis(1), &mut |_, _| {}).unwrap();
        client.poll(Duration::from_millis(5), &mut |reply| marks.push(reply.payload[0])).unwrap();
    }
    assert_eq!(marks, (1..=accepted).collect::<Vec<u8>>());
}
