//! A link end that uses iceoryx2's publish-subscribe, set up like iceoryx2's own benchmark: no history, a buffer of one
//! sample, overflow allowed. The benchmark does not initialize loaned slices, and writes and checks only 8 bytes of
//! each slice, as it also does when it measures the shm transport's ring.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;

use crate::Result;
use crate::pingpong::{End, Plan, exchange};

type Bytes = Publisher<ipc::Service, [u8], ()>;

pub struct Iceoryx {
    publisher: Bytes,
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    frame_bytes: usize,
    // Rust drops the fields in this order, so the folder is removed last.
    _node: Node<ipc::Service>,
    _folder: Folder,
}

/// The folder of iceoryx2's files and the name prefix of its shared memory during one measurement. The folder and the
/// shared memory are removed at the end of the measurement.
struct Folder {
    path: PathBuf,
    prefix: String,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The other process may already have removed the folder, or will remove it after dropping its own node.
        let _ = std::fs::remove_dir_all(&self.path);
        // If both processes drop their nodes at the same time, a file may remain.
        for file in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(&self.prefix) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}

impl Iceoryx {
    pub fn open(plan: &Plan, sends: &str, receives: &str, to: &mut dyn Write, from: &mut dyn BufRead) -> Result<Self> {
        set_log_level(LogLevel::Error);
        let pair = exchange(&std::process::id().to_string(), to, from)?.parse::<u32>()?.min(std::process::id());
        let path = std::env::temp_dir().join(format!("hopmeter-bench-{pair}"));
        // The name contains the bench's run, so that the bench can remove files that this process could not remove.
        let run = std::env::var("HOPMETER_BENCH_RUN").unwrap_or_else(|_| "bench".into());
        let folder = Folder { path, prefix: format!("hm_{run}_{pair}_") };
        let mut config = Config::default();
        config.global.set_root_path(&folder.path.to_string_lossy().as_ref().try_into()?);
        config.global.prefix = folder.prefix.as_str().try_into()?;
        let node = NodeBuilder::new().config(&config).create::<ipc::Service>()?;
        let service = |end: &str| {
            node.service_builder(&end.try_into()?)
                .publish_subscribe::<[u8]>()
                .max_publishers(1)
                .max_subscribers(1)
                .history_size(0)
                .subscriber_max_buffer_size(1)
                .enable_safe_overflow(true)
                .open_or_create()
                .map_err(Box::<dyn std::error::Error>::from)
        };
        let publisher = service(sends)?.publisher_builder().initial_max_slice_len(plan.frame_bytes).create()?;
        let subscriber = service(receives)?.subscriber_builder().create()?;
        exchange("connected", to, from)?;
        Ok(Self { publisher, subscriber, frame_bytes: plan.frame_bytes, _node: node, _folder: folder })
    }
}

impl End for Iceoryx {
    fn send(&mut self, number: u64) -> Result<()> {
        let mut sample = self.publisher.loan_slice_uninit(self.frame_bytes)?;
        for (to, from) in sample.payload_mut().iter_mut().zip(number.to_le_bytes()) {
            to.write(from);
        }
        // SAFETY: the mapped memory is always initialised.
        unsafe { sample.assume_init() }.send()?;
        Ok(())
    }

    fn look(&mut self) -> Result<Option<u64>> {
        let sample = self.subscriber.receive()?;
        Ok(sample.map(|sample| sample.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))))
    }
}
