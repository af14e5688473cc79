//! Registers the instrument's threads with the Python interpreter.

use pyo3::ffi;
use pyo3::prelude::*;

thread_local! {
    static ANCHOR: Anchor = Anchor::new();
    static MARK: u8 = const { 0 };
}

/// Runs `work` while the thread holds the interpreter lock (GIL).
///
/// The first call on a thread registers the thread with the interpreter until the thread ends. Without this
/// registration, CPython creates and destroys a thread state for every message.
pub fn attach<R>(work: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    // Registering fails only while the thread is exiting; each call then creates its own thread state.
    let _ = ANCHOR.try_with(|_| ());
    Python::attach(work)
}

/// A number that identifies this thread among all running threads.
pub fn this_thread() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// Keeps a thread registered with the interpreter.
struct Anchor {
    ours: bool,
}

impl Anchor {
    fn new() -> Self {
        // SAFETY: any thread may call both functions while the interpreter runs, with or without the lock.
        let ours = unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
        if ours {
            // SAFETY: `Ensure` takes the lock and adds a reference to the thread state, which is kept. `SaveThread`
            // releases only the lock.
            unsafe {
                ffi::PyGILState_Ensure();
                ffi::PyEval_SaveThread();
            }
        }
        Self { ours }
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        // SAFETY: the thread is exiting, so it does not hold the lock. The first `Release` drops the reference that
        // `Ensure` added, and keeps the lock. The second `Release` drops the reference that `new` added, and thus the
        // thread state.
        unsafe {
            if self.ours && ffi::Py_IsInitialized() != 0 {
                ffi::PyGILState_Ensure();
                ffi::PyGILState_Release(ffi::PyGILState_STATE::PyGILState_LOCKED);
                ffi::PyGILState_Release(ffi::PyGILState_STATE::PyGILState_UNLOCKED);
            }
        }
    }
}
