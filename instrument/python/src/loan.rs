//! Loans the instrument's closures to Python code for the duration of one call into the adapter.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::attach::this_thread;

/// The slot in which a Python callable finds its closure.
///
/// Python code may store the callable, and call it at any time and on any thread. The callable finds its closure only
/// during the call that the closure was loaned for, and only on that call's thread. While the closure runs, a nested
/// call of the callable does not find the closure. The thread holds the interpreter lock throughout, and only one
/// thread uses the closure, so relaxed atomic operations are sufficient.
pub struct Slot<T> {
    loan: AtomicPtr<T>,
    thread: AtomicUsize,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { loan: AtomicPtr::new(null_mut()), thread: AtomicUsize::new(0) }
    }
}

impl<T> Slot<T> {
    /// Loans `value` while `call` runs.
    pub fn lend<R>(&self, value: &mut T, call: impl FnOnce() -> R) -> R {
        self.thread.store(this_thread(), Relaxed);
        let _until_the_end = Restore { slot: self, to: self.loan.swap(value, Relaxed) };
        call()
    }

    /// Returns this thread's current loan, or `None` if nothing is loaned.
    pub fn borrow(&self) -> Option<Borrowed<'_, T>> {
        if self.thread.load(Relaxed) != this_thread() {
            return None;
        }
        let at = NonNull::new(self.loan.swap(null_mut(), Relaxed))?;
        Some(Borrowed { at, _then: Restore { slot: self, to: at.as_ptr() } })
    }
}

/// Exclusive use of a loan. While a `Borrowed` value exists, no other caller finds the loan.
pub struct Borrowed<'a, T> {
    at: NonNull<T>,
    _then: Restore<'a, T>,
}

impl<T> Borrowed<'_, T> {
    pub fn get(&mut self) -> &mut T {
        // SAFETY: `lend` is still running on this thread. The loan's pointer was taken out of the slot, so nothing else
        // uses the loan.
        unsafe { self.at.as_mut() }
    }
}

/// Restores the slot's previous content, even if the call panics.
struct Restore<'a, T> {
    slot: &'a Slot<T>,
    to: *mut T,
}

impl<T> Drop for Restore<'_, T> {
    fn drop(&mut self) {
        self.slot.loan.store(self.to, Relaxed);
    }
}
