//! Sends messages with a POSIX message queue: start `example receive`, then `example send` in a second terminal.

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::mqueue::{MQ_OFlag, MqAttr, mq_open, mq_send, mq_timedreceive, mq_unlink};
use nix::sys::stat::Mode;
use nix::sys::time::TimeSpec;

const PAYLOAD_BYTES: usize = 1000;
const RATE_HZ: f64 = 100.0;
const COUNT: u32 = 100;
const TOPIC: &str = "messages";
const DEPTH: usize = 10; // fs.mqueue.msg_max limits this number
const PATIENCE: Duration = Duration::from_secs(10);

/// The system call expects an absolute time of day as the timeout.
fn time_limit() -> Result<TimeSpec, Box<dyn Error>> {
    Ok(TimeSpec::from_duration(SystemTime::now().duration_since(UNIX_EPOCH)? + PATIENCE))
}

fn send(name: &str) -> Result<(), Box<dyn Error>> {
    let queue = mq_open(name, MQ_OFlag::O_WRONLY, Mode::empty(), None)?;
    let payload = vec![0; PAYLOAD_BYTES];
    let begin = Instant::now();
    for number in 0..COUNT {
        let due = begin + Duration::from_secs_f64(f64::from(number) / RATE_HZ);
        sleep(due.saturating_duration_since(Instant::now()));
        mq_send(&queue, &payload, 0)?; // waits while the queue is full
    }
    println!("sent {COUNT} messages");
    Ok(())
}

fn receive(name: &str) -> Result<(), Box<dyn Error>> {
    let flags = MQ_OFlag::O_RDONLY | MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL;
    let attributes = MqAttr::new(0, DEPTH as i64, PAYLOAD_BYTES as i64, 0);
    let queue = mq_open(name, flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&attributes))?;
    println!("ready");
    let mut payload = vec![0; PAYLOAD_BYTES];
    let (mut count, mut priority) = (0, 0);
    while count < COUNT {
        let Ok(length) = mq_timedreceive(&queue, &mut payload, &mut priority, &time_limit()?) else { break };
        count += u32::from(length == PAYLOAD_BYTES);
    }
    mq_unlink(name)?; // otherwise the queue remains until the system restarts
    println!("received {count} messages");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = format!("/{TOPIC}");
    match std::env::args().nth(1).as_deref() {
        Some("send") => send(&name),
        _ => receive(&name),
    }
}
