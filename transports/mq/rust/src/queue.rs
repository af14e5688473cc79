//! A POSIX message queue.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hopmeter_instrument::prelude::*;
use nix::errno::Errno;
use nix::mqueue::{
    MQ_OFlag, MqAttr, MqdT, mq_close, mq_getattr, mq_open, mq_receive, mq_send, mq_timedreceive, mq_unlink,
};
use nix::sys::stat::Mode;
use nix::sys::time::TimeSpec;

/// The largest message that the kernel allows by default (fs.mqueue.msgsize_max).
pub const LARGEST: usize = 8192;

pub struct Queue {
    /// `None` only during the close.
    descriptor: Option<MqdT>,
    /// The queue's name, if this link end must remove the name.
    name: Option<String>,
    blocks: bool,
}

impl Queue {
    /// Creates a receiver's queue for `depth` messages of at most `bytes` bytes.
    pub fn create(name: &str, depth: usize, bytes: usize, blocks: bool) -> Result<Self> {
        let name = format!("/{name}");
        let flags = MQ_OFlag::O_RDONLY | MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_CLOEXEC;
        let flags = if blocks { flags } else { flags | MQ_OFlag::O_NONBLOCK };
        let attributes = MqAttr::new(0, depth as i64, bytes as i64, 0);
        let opened = mq_open(name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&attributes));
        let descriptor = opened.map_err(|cause| creation_error(depth, bytes, cause))?;
        Ok(Self { descriptor: Some(descriptor), name: Some(name), blocks })
    }

    /// Opens a receiver's queue for sending, and removes the queue's name.
    pub fn open(name: &str) -> Result<Self> {
        let name = format!("/{name}");
        let flags = MQ_OFlag::O_WRONLY | MQ_OFlag::O_NONBLOCK | MQ_OFlag::O_CLOEXEC;
        let opened = mq_open(name.as_str(), flags, Mode::empty(), None);
        let descriptor = opened.context(format!("opening the message queue {name}"))?;
        let _ = mq_unlink(name.as_str()); // the receiver may already have removed the name
        Ok(Self { descriptor: Some(descriptor), name: None, blocks: false })
    }

    fn descriptor(&self) -> &MqdT {
        self.descriptor.as_ref().expect("open until dropped")
    }

    pub fn is_full(&self) -> bool {
        mq_getattr(self.descriptor()).is_ok_and(|now| now.curmsgs() >= now.maxmsg())
    }

    /// Sends one message without waiting.
    pub fn send(&self, frame: &[u8]) -> Result<Sent> {
        loop {
            match mq_send(self.descriptor(), frame, 0) {
                Ok(()) => return Ok(Sent::Accepted),
                Err(Errno::EAGAIN) => return Ok(Sent::Busy),
                Err(Errno::EINTR) => {}
                Err(cause) => {
                    return Err(Error::new(format!("sending a frame of {} bytes", frame.len())).because(cause));
                }
            }
        }
    }

    /// Receives one message, and returns its length. The system call expects an absolute time of day as the timeout.
    pub fn receive(&self, buffer: &mut [u8], timeout: Duration) -> Result<Option<usize>> {
        let mut priority = 0;
        let answer = if self.blocks {
            let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + timeout;
            mq_timedreceive(self.descriptor(), buffer, &mut priority, &TimeSpec::from_duration(until))
        } else {
            mq_receive(self.descriptor(), buffer, &mut priority)
        };
        match answer {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::EAGAIN | Errno::ETIMEDOUT | Errno::EINTR) => Ok(None),
            Err(cause) => Err(Error::new("receiving a message").because(cause)),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Ignore errors: the publisher has removed the name, and the kernel closes the queue when the process exits.
        let _ = self.descriptor.take().map(mq_close);
        let _ = self.name.take().map(|name| mq_unlink(name.as_str()));
    }
}

/// Returns an error that names the exceeded kernel limit, and how to raise the limit.
fn creation_error(depth: usize, bytes: usize, cause: Errno) -> Error {
    let remedy = match cause {
        Errno::EINVAL => format!(
            "use a smaller depth, or raise the limits: sysctl -w fs.mqueue.msg_max={depth} fs.mqueue.msgsize_max={bytes}"
        ),
        Errno::EMFILE => "use a smaller depth or smaller messages, or raise the memory that all queues of a user may \
                          have: ulimit -q unlimited"
            .into(),
        Errno::ENOSPC => "raise the number of queues: sysctl -w fs.mqueue.queues_max=1024".into(),
        Errno::ENOSYS => "this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)".into(),
        _ => "see man mq_overview".into(),
    };
    Error::new(format!("creating a message queue for {depth} messages of {bytes} bytes")).remedy(remedy).because(cause)
}
