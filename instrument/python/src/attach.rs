//! Attaches the instrument's own threads to the interpreter lock (GIL).

use pyo3::ffi;
use pyo3::prelude::*;

thread_local! {
    static ANCHOR: Anchor = Anchor::new();
    static MARK: u8 = const { 0 };
}

/// Runs `work` with the interpreter lock held.
///
/// The first call on a thread registers it with the interpreter for the rest of its life. Without this, CPython would
/// allocate and destroy a thread state for every message.
pub fn attach<R>(work: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    // This fails only while the thread ends; then each call pays for a thread state of its own.
    let _ = ANCHOR.try_with(|_| ());
    Python::attach(work)
}

/// A number that no other live thread has.
pub fn this_thread() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// Keeps a thread registered with the interpreter.
struct Anchor {
    ours: bool,
}

impl Anchor {
    fn new() -> Self {
        // SAFETY: both may be called from any thread while the interpreter lives, with or without the lock.
        let ours = unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
        if ours {
            // SAFETY: `Ensure` takes the lock and counts one use, which remains. `SaveThread` releases only the lock.
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
        // SAFETY: the thread ends, so it does not hold the lock. The first `Release` removes the use counted just
        // before and retains the lock. The second one removes the use that `new` counted, and with it the thread's
        // state.
        unsafe {
            if self.ours && ffi::Py_IsInitialized() != 0 {
                ffi::PyGILState_Ensure();
                ffi::PyGILState_Release(ffi::PyGILState_STATE::PyGILState_LOCKED);
                ffi::PyGILState_Release(ffi::PyGILState_STATE::PyGILState_UNLOCKED);
            }
        }
    }
}
