// The function table of a codec library. cpp/include/hopmeter/codec.h documents each function. The module `generated`
// contains the generated code, and `coding` the functions of one codec.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use crate::coding::{Decoded, Encoder, Object};

const CODEC_ABI: u32 = 1;

#[repr(C)]
pub struct Functions {
    abi: u32,
    open: unsafe extern "C" fn(*const u8, usize) -> *mut c_void,
    close: unsafe extern "C" fn(*mut c_void),
    open_encoder: unsafe extern "C" fn() -> *mut c_void,
    close_encoder: unsafe extern "C" fn(*mut c_void),
    encode: unsafe extern "C" fn(*const c_void, *mut c_void, *mut usize) -> *const u8,
    decode: unsafe extern "C" fn(*const u8, usize) -> *mut c_void,
    close_decoded: unsafe extern "C" fn(*mut c_void),
    equal: unsafe extern "C" fn(*const c_void, *const c_void) -> c_int,
}

static FUNCTIONS: Functions =
    Functions { abi: CODEC_ABI, open, close, open_encoder, close_encoder, encode, decode, close_decoded, equal };

#[no_mangle]
pub extern "C" fn hopmeter_codec() -> *const Functions {
    &FUNCTIONS
}

/// Moves a value to the heap and transfers ownership to the caller. Returns a null pointer if the closure returns no
/// value or panics.
fn hand_out<T>(make: impl FnOnce() -> Option<T>) -> *mut c_void {
    let made = catch_unwind(AssertUnwindSafe(make)).unwrap_or(None);
    made.map_or(null_mut(), |made| Box::into_raw(Box::new(made)).cast())
}

unsafe extern "C" fn open(bytes: *const u8, size: usize) -> *mut c_void {
    let bytes = unsafe { std::slice::from_raw_parts(bytes, size) };
    hand_out(|| Object::open(bytes))
}

unsafe extern "C" fn close(object: *mut c_void) {
    drop(unsafe { Box::from_raw(object.cast::<Object>()) });
}

unsafe extern "C" fn open_encoder() -> *mut c_void {
    hand_out(|| Some(Encoder::default()))
}

unsafe extern "C" fn close_encoder(encoder: *mut c_void) {
    drop(unsafe { Box::from_raw(encoder.cast::<Encoder>()) });
}

unsafe extern "C" fn encode(object: *const c_void, encoder: *mut c_void, size: *mut usize) -> *const u8 {
    let (object, encoder) = unsafe { (&*object.cast::<Object>(), &mut *encoder.cast::<Encoder>()) };
    let bytes = object.encode(encoder);
    unsafe { *size = bytes.len() };
    bytes.as_ptr()
}

unsafe extern "C" fn decode(payload: *const u8, size: usize) -> *mut c_void {
    // SAFETY: the caller drops the decoded object before the payload.
    let payload: &'static [u8] = unsafe { std::slice::from_raw_parts(payload, size) };
    hand_out(|| Decoded::decode(payload))
}

unsafe extern "C" fn close_decoded(decoded: *mut c_void) {
    drop(unsafe { Box::from_raw(decoded.cast::<Decoded>()) });
}

unsafe extern "C" fn equal(object: *const c_void, decoded: *const c_void) -> c_int {
    let (object, decoded) = unsafe { (&*object.cast::<Object>(), &*decoded.cast::<Decoded>()) };
    catch_unwind(AssertUnwindSafe(|| object.equals(decoded))).unwrap_or(false).into()
}
