//! Shared code of the adapters for asynchronous libraries: the runtime, waits with a timeout, and receivers with a
//! callback.

pub mod calls;
pub mod frames;

use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use hopmeter_instrument::{Context, Result, Subscription};
use tokio::runtime::{Builder, Runtime as Tokio};
use tokio::task::JoinHandle;

/// The threads of the library's runtime, which all link ends of the node share.
#[derive(Clone)]
pub struct Runtime(Arc<Tokio>);

impl Runtime {
    pub fn start(name: &str, threads: usize) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(threads).thread_name(name).enable_all().build();
        Ok(Self(Arc::new(runtime.context(format!("starting the threads of {name}"))?)))
    }

    /// Waits for `future` on this thread. Returns `None` after the timeout. If the timeout is zero, the function polls
    /// `future` once and does not sleep.
    pub fn wait_for<F: Future>(&self, timeout: Duration, future: F) -> Option<F::Output> {
        if timeout.is_zero() {
            return match pin!(future).poll(&mut task::Context::from_waker(Waker::noop())) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            };
        }
        self.0.block_on(async { tokio::time::timeout(timeout, future).await }).ok()
    }

    /// Waits for `future`. A thread of this runtime may call `finish`; the thread's other tasks then continue on
    /// another thread.
    pub fn finish<F: Future>(&self, future: F) -> F::Output {
        tokio::task::block_in_place(|| self.0.block_on(future))
    }

    /// Runs `calls` as a task until it completes or the subscription is dropped.
    pub fn call(&self, calls: impl Future<Output = ()> + Send + 'static) -> Task {
        Task { runtime: self.clone(), task: Some(self.0.spawn(calls)) }
    }

    /// Aborts a task and waits until the task has ended.
    pub fn end<T>(&self, task: JoinHandle<T>) {
        task.abort();
        // The result shows only that the task was aborted.
        let _ = self.0.block_on(task);
    }
}

impl Deref for Runtime {
    type Target = Tokio;

    fn deref(&self) -> &Tokio {
        &self.0
    }
}

/// A receiver to which a task delivers its frames.
pub struct Task {
    runtime: Runtime,
    task: Option<JoinHandle<()>>,
}

impl Subscription for Task {}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            self.runtime.end(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[test]
    fn a_wait_has_an_end() {
        let runtime = Runtime::start("test", 1).expect("threads");
        assert_eq!(runtime.wait_for(Duration::from_millis(1), std::future::pending::<()>()), None);
        assert_eq!(runtime.wait_for(Duration::ZERO, std::future::pending::<()>()), None);
        assert_eq!(runtime.wait_for(Duration::from_secs(60), async { 7 }), Some(7));
        assert_eq!(runtime.wait_for(Duration::ZERO, async { 7 }), Some(7));
    }

    #[test]
    fn a_task_may_wait_for_another_one() {
        let runtime = Runtime::start("test", 1).expect("threads");
        let other = runtime.clone();
        let nested = runtime.spawn(async move { other.finish(other.spawn(async { 7 })).expect("the inner task ends") });
        assert_eq!(runtime.finish(nested).expect("the outer task ends"), 7);
    }

    #[test]
    fn a_dropped_task_calls_no_more() {
        let runtime = Runtime::start("test", 1).expect("threads");
        let (numbers, mut queue) = unbounded_channel();
        let (seen, arrived) = std::sync::mpsc::channel();
        let task = runtime.call(async move {
            while let Some(number) = queue.recv().await {
                seen.send(number).expect("the test listens");
            }
        });
        numbers.send(5).expect("the task listens");
        assert_eq!(arrived.recv(), Ok(5));
        drop(task);
        assert!(numbers.send(6).is_err() && arrived.recv().is_err());
    }
}
