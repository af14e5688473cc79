//! The MPI job that the nodes of a trial form together. `../../README.md` describes how a node becomes a rank.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hopmeter_instrument::prelude::*;
use mpi::Threading;
use mpi::ffi;
use mpi::traits::*;
use rustix::fs::OFlags;

use crate::messages::{Buffer, call_mpi};

/// The pause between two checks of whether the job has started, or whether messages are still unfinished.
const PAUSE: Duration = Duration::from_millis(2);

/// The process id of each rank, or why MPI is not initialized.
type Ranks = std::result::Result<Vec<i32>, String>;

/// This process's place in the job. A thread initializes MPI as soon as the job has started, and finalizes MPI at the
/// end, because the same thread must do both. In between, the thread calls MPI only while messages are unfinished.
pub struct Job {
    folder: PathBuf,
    ranks: Arc<OnceLock<Ranks>>,
    is_rung: AtomicBool,
    tags: AtomicI32,
    unfinished: Arc<Unfinished>,
    /// Wakes the thread; the thread ends when this sender is dropped.
    end: Mutex<Option<(mpsc::Sender<()>, JoinHandle<()>)>>,
}

/// What MPI has not finished.
#[derive(Default)]
struct Unfinished {
    /// How many link ends have unfinished messages, plus the number of buffers in `kept`.
    count: AtomicI32,
    /// The buffers that their link ends have released, but that MPI still needs.
    kept: Mutex<Vec<Buffer>>,
}

impl Unfinished {
    /// Frees the buffers that MPI no longer needs.
    fn drop_done(&self) {
        let mut kept = lock(&self.kept);
        let before = kept.len();
        kept.retain_mut(|buffer| !buffer.is_done_by(Instant::now()).unwrap_or(false));
        self.count.fetch_sub((before - kept.len()) as i32, Relaxed);
    }
}

impl Job {
    pub fn new(setup: &Setup) -> Result<Self> {
        let folder = PathBuf::from(&setup.broker);
        let waiting = folder.join("waiting").join(process::id().to_string());
        File::create(&waiting).context("asking for a rank")?;
        let ranks = Arc::new(OnceLock::new());
        let (stop, stopped) = mpsc::channel();
        let unfinished = Arc::new(Unfinished::default());
        let left = unfinished.clone();
        let (known, rank) = (ranks.clone(), folder.join("ranks").join(process::id().to_string()));
        let thread = thread::spawn(move || {
            while !rank.exists() {
                if stopped.recv_timeout(PAUSE) != Err(mpsc::RecvTimeoutError::Timeout) {
                    let _ = fs::remove_file(&waiting); // mpirun may have started the job meanwhile
                    return;
                }
            }
            take_over(&rank);
            let Some((universe, _)) = mpi::initialize_with_threading(Threading::Multiple) else {
                let _ = known.set(Err("MPI is already initialized".into()));
                return;
            };
            let _ = known.set(process_ids(&universe));
            while stopped.recv().is_ok() && call_until_finished(&left, &stopped) {}
        });
        Ok(Self {
            folder,
            ranks,
            is_rung: AtomicBool::new(false),
            tags: AtomicI32::new(0),
            unfinished,
            end: Mutex::new(Some((stop, thread))),
        })
    }

    /// Returns the process ids of the ranks if this process is a rank. If not, first sleeps briefly, so that a spinning
    /// caller does not keep the core from the thread that initializes MPI.
    pub fn ranks(&self) -> Result<Option<&[i32]>> {
        match self.ranks.get() {
            Some(Ok(ranks)) => Ok(Some(ranks)),
            Some(Err(why)) => Err(Error::new(why.clone()).remedy("read the log of mpirun")),
            None => {
                thread::sleep(PAUSE);
                Ok(None)
            }
        }
    }

    /// Requests a job with all waiting nodes from the broker.
    pub fn start(&self) -> Result<()> {
        if self.is_rung.swap(true, Relaxed) {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options.write(true), OFlags::NONBLOCK.bits() as i32);
        let mut bell = options.open(self.folder.join("doorbell")).context("asking mpirun for a job")?;
        bell.write_all(b"start\n").context("asking mpirun for a job")
    }

    /// Adds `ends`, which is 1 or -1, to the number of link ends that have unfinished messages. While there are such
    /// link ends, the thread calls MPI: MPI sends messages only inside its functions, and the link ends may call none.
    pub fn count_unfinished(&self, ends: i32) {
        self.unfinished.count.fetch_add(ends, Relaxed);
        if let Some((wake, _)) = &*lock(&self.end) {
            let _ = wake.send(()); // the thread has ended if MPI could not be initialized
        }
    }

    /// Waits until MPI no longer needs a buffer, at most until `until`. If MPI then still needs the buffer, keeps it
    /// until MPI no longer needs it, or until MPI is finalized.
    pub fn release(&self, mut buffer: Buffer, until: Instant) -> Result<()> {
        let done = buffer.is_done_by(until);
        if !matches!(done, Ok(true)) {
            lock(&self.unfinished.kept).push(buffer);
            self.count_unfinished(1);
        }
        done.map(drop)
    }

    /// Returns a tag that no other link end of this process uses.
    pub fn next_tag(&self) -> i32 {
        self.tags.fetch_add(1, Relaxed) + 1
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some((stop, thread)) = lock(&self.end).take() {
            drop(stop);
            let _ = thread.join(); // a panic is already in the log
        }
    }
}

/// Calls MPI from time to time until no message is unfinished. Returns false if the thread has to end.
fn call_until_finished(unfinished: &Unfinished, stopped: &mpsc::Receiver<()>) -> bool {
    while unfinished.count.load(Relaxed) > 0 {
        call_mpi();
        unfinished.drop_done();
        if stopped.recv_timeout(PAUSE) == Err(mpsc::RecvTimeoutError::Disconnected) {
            return false;
        }
    }
    true
}

/// Copies the environment of a rank.
fn take_over(rank: &PathBuf) {
    for entry in fs::read_to_string(rank).unwrap_or_default().split('\0') {
        if let Some((name, value)) = entry.split_once('=') {
            std::env::set_var(name, value);
        }
    }
}

/// Makes MPI return error codes, and returns the process id of each rank.
fn process_ids(universe: &mpi::environment::Universe) -> Ranks {
    if mpi::environment::threading_support() != Threading::Multiple {
        return Err("this MPI library does not support MPI_THREAD_MULTIPLE".into());
    }
    let world = universe.world();
    // SAFETY: MPI is initialized, and the handles are valid.
    unsafe { ffi::MPI_Comm_set_errhandler(world.as_raw(), ffi::RSMPI_ERRORS_RETURN) };
    let mut ids = vec![0; world.size() as usize];
    world.all_gather_into(&(process::id() as i32), &mut ids[..]);
    Ok(ids)
}
