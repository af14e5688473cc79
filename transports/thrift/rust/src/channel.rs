//! A connection: a socket with the Thrift transport and protocol that the settings select.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hopmeter_instrument::prelude::*;
use hopmeter_streams::waiting::ReceiveTimeout;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactInputProtocol, TCompactOutputProtocol, TInputProtocol,
    TOutputProtocol,
};
use thrift::transport::{
    TBufferedReadTransport, TBufferedWriteTransport, TFramedReadTransport, TFramedWriteTransport, TReadTransport,
    TWriteTransport,
};

/// The settings of every connection.
#[derive(Clone, Copy)]
pub struct Stack {
    framed: bool,
    compact: bool,
    /// The size of the buffered transport's buffers. The value 0 selects Thrift's default.
    buffer: usize,
}

impl Stack {
    pub fn of(setup: &Setup) -> Result<Self> {
        Ok(Self {
            framed: setup.setting::<String>("transport")? == "framed",
            compact: setup.setting::<String>("protocol")? == "compact",
            buffer: setup.setting("buffer")?,
        })
    }

    fn read_transport(&self, source: Source) -> Box<dyn TReadTransport + Send> {
        match (self.framed, self.buffer) {
            (true, _) => Box::new(TFramedReadTransport::new(source)),
            (false, 0) => Box::new(TBufferedReadTransport::new(source)),
            (false, bytes) => Box::new(TBufferedReadTransport::with_capacity(bytes, source)),
        }
    }

    fn write_transport(&self, sink: Sink) -> Box<dyn TWriteTransport + Send> {
        match (self.framed, self.buffer) {
            (true, _) => Box::new(TFramedWriteTransport::new(sink)),
            (false, 0) => Box::new(TBufferedWriteTransport::new(sink)),
            (false, bytes) => Box::new(TBufferedWriteTransport::with_capacity(bytes, sink)),
        }
    }

    fn input(&self, reads: Counted) -> Box<dyn TInputProtocol + Send> {
        match self.compact {
            true => Box::new(TCompactInputProtocol::new(reads)),
            // Messages without a version are also accepted, as in the adapter's other languages.
            false => Box::new(TBinaryInputProtocol::new(reads, false)),
        }
    }

    fn output(&self, writes: Box<dyn TWriteTransport + Send>) -> Box<dyn TOutputProtocol + Send> {
        match self.compact {
            true => Box::new(TCompactOutputProtocol::new(writes)),
            false => Box::new(TBinaryOutputProtocol::new(writes, true)),
        }
    }
}

/// One connection.
pub struct Channel {
    pub input: Box<dyn TInputProtocol + Send>,
    pub output: Box<dyn TOutputProtocol + Send>,
    pub socket: Arc<OwnedFd>,
    progress: Arc<Progress>,
    framed: bool,
    timeout: ReceiveTimeout,
}

impl Channel {
    pub fn new(socket: OwnedFd, stack: &Stack) -> Self {
        let (socket, progress) = (Arc::new(socket), Arc::<Progress>::default());
        let source = Source { socket: socket.clone(), progress: progress.clone() };
        let reads = Counted { transport: stack.read_transport(source), progress: progress.clone() };
        let writes = stack.write_transport(Sink { socket: socket.clone(), progress: progress.clone() });
        let (input, output) = (stack.input(reads), stack.output(writes));
        Self { input, output, socket, progress, framed: stack.framed, timeout: ReceiveTimeout::default() }
    }

    /// Sets the timeout for the beginning of the next message.
    pub fn begin_message(&mut self, timeout: Duration) -> Result<()> {
        self.progress.begun.store(self.has_buffered(), Relaxed);
        self.timeout.set(&self.socket, timeout)
    }

    /// Whether no part of the next message has arrived yet.
    pub fn is_waiting(&self) -> bool {
        !self.progress.begun.load(Relaxed)
    }

    /// Whether bytes of the next message have already been read together with the previous message. The framed
    /// transport always reads exactly one frame.
    pub fn has_buffered(&self) -> bool {
        !self.framed && self.progress.buffered.load(Relaxed) > 0
    }

    /// Whether the peer has closed the connection.
    pub fn has_ended(&self) -> bool {
        self.progress.ended.load(Relaxed)
    }
}

/// The reading state of a connection, which Thrift's transport and protocol do not report.
#[derive(Default)]
struct Progress {
    /// Whether a part of a message has arrived.
    begun: AtomicBool,
    /// The number of bytes that the Thrift transport has read, but that the protocol has not read yet.
    buffered: AtomicUsize,
    ended: AtomicBool,
}

/// The reader below a Thrift transport. The socket's timeout applies only to the first bytes of a message; the reader
/// waits for all further bytes of the message. A timeout is reported as a temporary end of the stream, because Thrift's
/// buffered transport returns old bytes a second time after an error.
struct Source {
    socket: Arc<OwnedFd>,
    progress: Arc<Progress>,
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(&*self.socket, &mut *into, RecvFlags::empty()) {
                Ok((_, 0)) | Err(Errno::CONNRESET) => {
                    self.progress.ended.store(true, Relaxed);
                    return Ok(0);
                }
                Ok((_, bytes)) => {
                    self.progress.begun.store(true, Relaxed);
                    self.progress.buffered.fetch_add(bytes, Relaxed);
                    return Ok(bytes);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.progress.begun.load(Relaxed) => {}
                Err(Errno::AGAIN) => return Ok(0),
                Err(cause) => return Err(cause.into()),
            }
        }
    }
}

/// The writer below a Thrift transport.
struct Sink {
    socket: Arc<OwnedFd>,
    progress: Arc<Progress>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(&*self.socket, bytes, SendFlags::NOSIGNAL).map_err(|cause| {
            let ended = matches!(cause, Errno::PIPE | Errno::CONNRESET);
            self.progress.ended.fetch_or(ended, Relaxed);
            cause.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A Thrift transport that counts the bytes that the protocol reads.
struct Counted {
    transport: Box<dyn TReadTransport + Send>,
    progress: Arc<Progress>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.transport.read(into)?;
        self.progress.buffered.fetch_sub(bytes, Relaxed);
        Ok(bytes)
    }
}
