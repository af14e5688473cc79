//! Link ends with a callback, as in programs with r2r: one thread spins the node and runs the receiving task.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;
use hopmeter_instrument::Context as _;
use hopmeter_instrument::prelude::*;
use r2r::Node;

/// The longest time that the node sleeps. r2r cannot wake the node, so this time also limits the delay of a close.
const LONGEST_SPIN: Duration = Duration::from_millis(50);

pub struct Called {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Called {
    /// Spins the node and runs the task until the returned value is dropped.
    pub fn start(node: Node, task: impl Future<Output = ()> + Send + 'static) -> Result<Box<dyn Subscription>> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let run = move || run(node, task, &over);
        let thread = Builder::new().name("spin".into()).spawn(run).context("starting a thread that spins a node")?;
        Ok(Box::new(Self { is_over, thread: Some(thread) }))
    }
}

fn run(mut node: Node, task: impl Future<Output = ()> + 'static, over: &AtomicBool) {
    let mut pool = LocalPool::new();
    pool.spawner().spawn_local(task).expect("the pool exists");
    while !over.load(Ordering::Relaxed) {
        node.spin_once(LONGEST_SPIN);
        pool.run_until_stalled();
    }
}

impl Subscription for Called {}

impl Drop for Called {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Joining fails only if a callback panicked, which the log already shows.
            let _ = thread.join();
        }
    }
}
