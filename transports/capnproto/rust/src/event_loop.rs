//! Threads that run Cap'n Proto. The objects of capnp-rpc must stay on the thread that created them, so the link ends
//! exchange frames with tasks on such a thread.

use std::cell::RefCell;
use std::future::Future;
use std::sync::{Arc, Weak, mpsc};
use std::thread::{self, JoinHandle, ThreadId};

use hopmeter_instrument::prelude::*;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs tasks until the last reference to the event loop is dropped.
pub struct EventLoop {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

thread_local! {
    static OF_ENDPOINT: RefCell<Weak<EventLoop>> = const { RefCell::new(Weak::new()) };
}

impl EventLoop {
    pub fn start() -> Result<Arc<Self>> {
        let (jobs, mut queue) = unbounded_channel::<Job>();
        let runtime = Builder::new_current_thread().enable_all().build().context("starting an event loop")?;
        let run = async move {
            while let Some(job) = queue.recv().await {
                job();
            }
        };
        let thread = thread::Builder::new().name("capnp".into()).spawn(move || LocalSet::new().block_on(&runtime, run));
        Ok(Arc::new(Self { jobs: Some(jobs), thread: Some(thread.context("starting the thread of an event loop")?) }))
    }

    /// Returns the event loop that the publishers and subscribers of this thread's endpoint share, as in a program with
    /// one event loop.
    pub fn of_endpoint() -> Result<Arc<Self>> {
        OF_ENDPOINT.with_borrow_mut(|shared| {
            if let Some(running) = shared.upgrade() {
                return Ok(running);
            }
            let started = Self::start()?;
            *shared = Arc::downgrade(&started);
            Ok(started)
        })
    }

    /// Whether the current thread runs this event loop.
    pub fn is_here(&self) -> bool {
        self.thread.as_ref().map(|thread| thread.thread().id()) == Some(current())
    }

    /// Runs a task on the event loop until the returned value is dropped.
    pub fn host<F>(self: &Arc<Self>, create: impl FnOnce() -> F + Send + 'static) -> Hosted
    where
        F: Future<Output = ()> + 'static,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let (alive, ended) = mpsc::channel::<()>();
        let job = move || {
            spawn_local(async move {
                let _alive = alive;
                tokio::select! {
                    _ = stopped => {}
                    () = create() => {}
                }
            });
        };
        if let Some(jobs) = &self.jobs {
            // Sending fails only if the thread has ended, so an error can be ignored.
            drop(jobs.send(Box::new(job)));
        }
        Hosted { home: self.clone(), stop: Some(stop), ended }
    }
}

fn current() -> ThreadId {
    thread::current().id()
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        drop(self.jobs.take());
        let is_here = self.is_here();
        if let Some(thread) = self.thread.take().filter(|_| !is_here) {
            let _ = thread.join(); // a panic has already been reported
        }
    }
}

/// A task on an event loop. Dropping a `Hosted` ends the task, and waits until the task's objects have been dropped.
pub struct Hosted {
    pub home: Arc<EventLoop>,
    stop: Option<oneshot::Sender<()>>,
    ended: mpsc::Receiver<()>,
}

impl Drop for Hosted {
    fn drop(&mut self) {
        drop(self.stop.take());
        if !self.home.is_here() {
            let _ = self.ended.recv(); // fails as soon as the task has ended
        }
    }
}
