//! Passes the instrument's closures to an adapter, which borrows a closure for one call or owns it for a subscription.
//!
//! The ABI catches a panic in a borrowed closure, and resumes the panic after the adapter has returned. A panic in an
//! owned closure cannot be resumed, so the process prints the panic's message on stderr and aborts.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use hopmeter_instrument::contract::{Fill, Handle, OnFrame, OnRequest, Shared, Take, Write};

use crate::abi;
use crate::calls;
use crate::frames::{CReceived, frame_mut};
use crate::rpc::CReplier;

/// A closure that is loaned for one call, and the panic that the closure raised, if any.
pub struct Loan<F> {
    closure: F,
    panicked: Option<Box<dyn Any + Send>>,
}

impl<F> Loan<F> {
    /// Passes a pointer to `closure` to `call`; one of the functions below then receives this pointer as its context.
    pub fn loan_to<T>(closure: F, call: impl FnOnce(*mut c_void) -> T) -> T {
        let mut loan = Self { closure, panicked: None };
        let answer = call((&raw mut loan).cast());
        match loan.panicked {
            Some(panic) => resume_unwind(panic),
            None => answer,
        }
    }

    /// # Safety `context` must come from [`Loan::loan_to`] of the same type, and the `loan_to` call must still be
    /// running.
    unsafe fn enter(context: *mut c_void, act: impl FnOnce(&mut F)) {
        let loan = unsafe { &mut *context.cast::<Self>() };
        if loan.panicked.is_none() {
            loan.panicked = catch_unwind(AssertUnwindSafe(|| act(&mut loan.closure))).err();
        }
    }
}

/// Loans a closure that fills a frame.
pub fn lend_fill<T>(fill: Fill<'_>, call: impl FnOnce(abi::Fill) -> T) -> T {
    let (write, sent_ns) = fill.into_parts();
    let sent_ns = sent_ns.map_or(std::ptr::null_mut(), Cell::as_ptr);
    Loan::loan_to(write, |context| call(abi::Fill { context, call: call_fill, sent_ns }))
}

extern "C" fn call_fill(context: *mut c_void, frame: abi::FrameMut) {
    // SAFETY: the context is a loaned fill closure. The adapter owns the header and the payload, and only this call
    // uses them.
    unsafe { Loan::<Write<'_>>::enter(context, |write| write(frame_mut(&frame))) }
}

/// Loans a closure that accepts frames.
pub fn lend_take<T>(take: Take<'_>, call: impl FnOnce(abi::Take) -> T) -> T {
    Loan::loan_to(take, |context| call(abi::Take { context, call: call_take }))
}

extern "C" fn call_take(context: *mut c_void, received: *const abi::Received) {
    // SAFETY: the context is a loaned take closure; `received` is valid during this call.
    unsafe { Loan::<Take<'_>>::enter(context, |take| CReceived::new(&*received).show(take)) }
}

/// Loans a request handler.
pub fn lend_handle<T>(handle: Handle<'_>, call: impl FnOnce(abi::Handle) -> T) -> T {
    Loan::loan_to(handle, |context| call(abi::Handle { context, call: call_handle }))
}

extern "C" fn call_handle(context: *mut c_void, received: *const abi::Received, replier: calls::Replier) {
    // SAFETY: the context is a loaned handler; `received` and `replier` are valid during this call.
    unsafe {
        Loan::<Handle<'_>>::enter(context, |handle| {
            CReceived::new(&*received).show(|received| handle(received, &mut CReplier::borrow(replier)));
        });
    }
}

/// Passes ownership of a callback to the adapter.
pub fn give_on_frame(on_frame: OnFrame) -> abi::OnFrame {
    abi::OnFrame { context: give(on_frame), call: call_on_frame, release: release::<OnFrame> }
}

extern "C" fn call_on_frame(context: *mut c_void, received: *const abi::Received) {
    // SAFETY: the context is an owned callback that is never called concurrently. `received` is valid during this call.
    let (on_frame, received) = unsafe { (&mut *context.cast::<OnFrame>(), &*received) };
    CReceived::new(received).show(|received| on_frame.call(received));
}

/// Passes ownership of a request handler to the adapter.
pub fn give_on_request(on_request: OnRequest) -> abi::OnRequest {
    abi::OnRequest { context: give(on_request), call: call_on_request, release: release::<OnRequest> }
}

extern "C" fn call_on_request(context: *mut c_void, received: *const abi::Received, replier: calls::Replier) {
    // SAFETY: the context is an owned handler that is never called concurrently. `received` is valid during this call.
    let (on_request, received) = unsafe { (&mut *context.cast::<OnRequest>(), &*received) };
    CReceived::new(received).show(|received| on_request(received, &mut CReplier::borrow(replier)));
}

/// Passes ownership of a payload's memory to the adapter.
pub fn give_shared(payload: &Shared) -> abi::Shared {
    let bytes = (**payload).as_ref();
    let (data, length) = (bytes.as_ptr(), bytes.len());
    abi::Shared { context: give(payload.clone()), data, bytes: length, release: release::<Shared> }
}

fn give<T>(owned: T) -> *mut c_void {
    Box::into_raw(Box::new(owned)).cast()
}

extern "C" fn release<T>(context: *mut c_void) {
    // SAFETY: the context comes from `give` of the same type, and the ABI says that it is released only once.
    drop(unsafe { Box::from_raw(context.cast::<T>()) });
}
