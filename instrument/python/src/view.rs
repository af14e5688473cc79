//! Accesses the bytes of Python objects, such as bytes, bytearrays, memoryviews, NumPy arrays or library frames,
//! without copying the bytes.

use std::cell::Cell;
use std::marker::PhantomData;
use std::os::raw::c_int;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

thread_local! {
    static TO_WRITE: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the frame that this thread is handling is in writable memory.
pub fn is_frame_writable() -> bool {
    TO_WRITE.get()
}

/// The contiguous bytes of an object that supports the buffer protocol. The object cannot move or free its bytes while
/// the view exists.
pub struct View<'py> {
    buffer: ffi::Py_buffer,
    attached: PhantomData<Python<'py>>,
}

impl<'py> View<'py> {
    /// Returns a view for reading the object's bytes.
    ///
    /// # Errors
    ///
    /// Fails with the `TypeError` or `BufferError` that the object raises.
    pub fn for_reading(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::get(object, ffi::PyBUF_SIMPLE)
    }

    /// Returns a view for writing `bytes` bytes of the object.
    ///
    /// # Errors
    ///
    /// Fails like [`View::for_reading`]. Also fails if the bytes are read-only, or if the object does not have exactly
    /// `bytes` bytes.
    pub fn for_writing(object: &Bound<'py, PyAny>, bytes: usize, part: &str) -> PyResult<Self> {
        let view = Self::get(object, ffi::PyBUF_WRITABLE)?;
        let given = view.bytes().len();
        if given == bytes {
            return Ok(view);
        }
        Err(PyValueError::new_err(format!("fill needs {bytes} bytes for the {part}, but the buffer has {given}")))
    }

    fn get(object: &Bound<'py, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut buffer = ffi::Py_buffer::new();
        // SAFETY: `object` proves that this thread holds the lock. `buffer` is empty and outlives the call.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut buffer, flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(Self { buffer, attached: PhantomData })
    }

    /// Records, while `role` runs, whether the frame's bytes are writable.
    pub fn lend<R>(&self, role: impl FnOnce() -> R) -> R {
        let before = TO_WRITE.replace(self.buffer.readonly == 0);
        let answer = role();
        TO_WRITE.set(before);
        answer
    }

    pub fn bytes(&self) -> &[u8] {
        if self.buffer.len == 0 {
            return &[];
        }
        // SAFETY: a simple buffer has `len` contiguous bytes that stay in place until the buffer is released.
        unsafe { std::slice::from_raw_parts(self.buffer.buf.cast(), self.buffer.len as usize) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        debug_assert_eq!(self.buffer.readonly, 0);
        if self.buffer.len == 0 {
            return &mut [];
        }
        // SAFETY: the buffer has `len` contiguous bytes, and it was requested as writable.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.buf.cast(), self.buffer.len as usize) }
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread holds the lock for the lifetime 'py, and `get` filled the buffer.
        unsafe { ffi::PyBuffer_Release(&raw mut self.buffer) }
    }
}
