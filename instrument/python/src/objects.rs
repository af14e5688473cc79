//! Implements the instrument's codec trait with Python objects, which `hopmeter.node.payloads.objects` encodes, decodes
//! and compares.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopmeter_instrument::codec::{Codec, Decoded, Encoded};
use hopmeter_instrument::{Error, Result};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::attach::attach;
use crate::failure::failure;
use crate::view::is_frame_writable;

/// The methods of an `Objects` instance, each looked up only once.
struct Methods {
    encode: Py<PyAny>,
    payload_bytes: Py<PyAny>,
    write: Py<PyAny>,
    decode: Py<PyAny>,
    is_right: Py<PyAny>,
    /// Whether the receiver has already reported a failure. Later failures are not reported, to keep the log short.
    told: AtomicBool,
}

/// The codec of a flow.
pub struct PyCodec(Arc<Methods>);

impl PyCodec {
    /// Creates a flow's object, and everything that the object's framework initializes on first use.
    pub fn open(make: &Py<PyAny>, flow: u32) -> Result<Arc<dyn Codec>> {
        attach(|py| {
            let opened = make.bind(py).call1((flow,)).and_then(|objects| {
                let method = |name| objects.getattr(name).map(Bound::unbind);
                Ok(Methods {
                    encode: method("encode")?,
                    payload_bytes: method("payload_bytes")?,
                    write: method("write")?,
                    decode: method("decode")?,
                    is_right: method("is_right")?,
                    told: AtomicBool::new(false),
                })
            });
            let methods = opened.map_err(|raised| failure(py, "making the object", &raised))?;
            Ok(Arc::new(Self(Arc::new(methods))) as Arc<dyn Codec>)
        })
    }
}

impl Codec for PyCodec {
    fn encode(&self) -> Result<Box<dyn Encoded>> {
        attach(|py| {
            let frames = self.0.encode.bind(py).call0();
            let frames = frames.map_err(|raised| failure(py, "encoding the object", &raised))?;
            Ok(Box::new(PyEncoded { frames: Some(frames.unbind()), methods: self.0.clone() }) as _)
        })
    }

    fn decode<'a>(&self, payload: &'a [u8]) -> Box<dyn Decoded + 'a> {
        let object = attach(|py| {
            let decoded = memory_view(py, payload).and_then(|view| self.0.decode.bind(py).call1((view,)));
            decoded.map(Bound::unbind).map_err(|raised| failure(py, "decoding the object", &raised))
        });
        Box::new(PyDecoded { object: Some(object), methods: self.0.clone(), payload: PhantomData })
    }
}

/// Returns the payload as a memoryview, which is writable if the transport's own memory is writable.
fn memory_view<'py>(py: Python<'py>, payload: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let flags = if is_frame_writable() { ffi::PyBUF_WRITE } else { ffi::PyBUF_READ };
    // SAFETY: `PyDecoded` drops the object that uses this memory before the payload is released. The object is
    // compared, but never changed.
    unsafe {
        let view = ffi::PyMemoryView_FromMemory(payload.as_ptr().cast_mut().cast(), payload.len() as isize, flags);
        Bound::from_owned_ptr_or_err(py, view)
    }
}

/// Encoded bytes in the memory of the object itself.
struct PyEncoded {
    frames: Option<Py<PyAny>>,
    methods: Arc<Methods>,
}

impl PyEncoded {
    fn call<T>(&self, work: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<T>) -> Result<T> {
        let Some(frames) = &self.frames else { return Err(Error::new("the object was already released")) };
        attach(|py| work(py, frames.bind(py)).map_err(|raised| failure(py, "sending the object", &raised)))
    }
}

impl Encoded for PyEncoded {
    fn bytes(&self) -> Result<usize> {
        self.call(|py, frames| self.methods.payload_bytes.bind(py).call1((frames,))?.extract())
    }

    fn write(&self, payload: &mut [u8]) -> Result<()> {
        self.call(|py, frames| {
            let (start, bytes) = (payload.as_mut_ptr().cast(), payload.len() as isize);
            // SAFETY: `write` copies into this memory and retains no reference. The payload outlives the call.
            let view = unsafe {
                Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromMemory(start, bytes, ffi::PyBUF_WRITE))
            };
            self.methods.write.bind(py).call1((frames, view?)).map(drop)
        })
    }
}

impl Drop for PyEncoded {
    fn drop(&mut self) {
        attach(|_| drop(self.frames.take()));
    }
}

/// An object that was decoded in place, so its data is in the payload's memory.
struct PyDecoded<'a> {
    object: Option<Result<Py<PyAny>>>,
    methods: Arc<Methods>,
    payload: PhantomData<&'a [u8]>,
}

impl Decoded for PyDecoded<'_> {
    fn is_right(&self, thoroughly: bool) -> bool {
        let compared = match &self.object {
            Some(Ok(object)) => attach(|py| {
                let answer = self.methods.is_right.bind(py).call1((object, thoroughly));
                let answer = answer.and_then(|answer| answer.extract::<bool>());
                answer.map_err(|raised| failure(py, "comparing the object", &raised).to_string())
            }),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(false),
        };
        if compared == Ok(true) {
            return true;
        }
        if !self.methods.told.swap(true, Ordering::Relaxed) {
            let why = compared.err().unwrap_or_else(|| "the object differs from the sent object".to_owned());
            eprintln!("hopmeter: an object did not arrive correctly: {why}");
        }
        false
    }
}

impl Drop for PyDecoded<'_> {
    fn drop(&mut self) {
        attach(|_| drop(self.object.take()));
    }
}
