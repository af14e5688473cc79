//! Loads a codec library: generated code for one schema message in the node's language, behind a C ABI.
//! `cpp/include/hopmeter/codec.h` defines the same function table in C. `hopmeter build --message` builds codec
//! libraries.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::codec::{Codec, Decoded, Encoded};
use crate::error::{Context, Error, Result};

/// The version of the function table, which is `HOPMETER_CODEC_ABI` in C.
pub const CODEC_ABI: u32 = 1;
const REBUILD: &str = "run `hopmeter build --message` again, for this payload, codec and language";

/// The functions of a codec library, which are `struct hopmeter_codec_functions` in C.
#[repr(C)]
struct Functions {
    abi: u32,
    open: unsafe extern "C" fn(bytes: *const u8, size: usize) -> *mut c_void,
    close: unsafe extern "C" fn(object: *mut c_void),
    open_encoder: unsafe extern "C" fn() -> *mut c_void,
    close_encoder: unsafe extern "C" fn(encoder: *mut c_void),
    encode: unsafe extern "C" fn(object: *const c_void, encoder: *mut c_void, size: *mut usize) -> *const u8,
    decode: unsafe extern "C" fn(payload: *const u8, size: usize) -> *mut c_void,
    close_decoded: unsafe extern "C" fn(decoded: *mut c_void),
    equal: unsafe extern "C" fn(object: *const c_void, decoded: *const c_void) -> c_int,
}

thread_local! {
    /// This thread's unused encoders.
    static SPARE: RefCell<Vec<Encoder>> = const { RefCell::new(Vec::new()) };
}

/// Opens a codec library, and creates the object to send from the file with its encoded form.
///
/// # Errors
///
/// Fails if the library cannot be loaded, or if the file does not contain a valid message.
pub fn open(library: &Path, object: &Path) -> Result<Arc<dyn Codec>> {
    let functions = load(library)?;
    let bytes = std::fs::read(object).context(format!("reading the object {}", object.display()))?;
    // SAFETY: the library has this version of the table, so the function has this signature.
    let made = unsafe { (functions.open)(bytes.as_ptr(), bytes.len()) };
    let memory = NonNull::new(made).ok_or_else(|| {
        Error::new(format!("{} does not read {}", library.display(), object.display())).remedy(REBUILD)
    })?;
    let codec = LibraryCodec(Arc::new(Object { functions, memory, has_complained: AtomicBool::new(false) }));
    codec.warm_up()?;
    Ok(Arc::new(codec))
}

/// Loads the function table of a library. The library stays loaded until the process ends.
fn load(library: &Path) -> Result<&'static Functions> {
    let name = CString::new(library.as_os_str().as_bytes()).context("the path of the codec library")?;
    // A node may contain another version of a library that the codec uses, such as Fast CDR. With `DEEPBIND`, the codec
    // calls the library version that it was linked with.
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
    // SAFETY: the path is a null-terminated string, and only the library's own initialization code runs.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if handle.is_null() {
        return Err(loader_error(library));
    }
    // SAFETY: the handle is open.
    let symbol = unsafe { libc::dlsym(handle, c"hopmeter_codec".as_ptr()) };
    if symbol.is_null() {
        return Err(loader_error(library));
    }
    // SAFETY: every version of the library exports this function, and its table begins with the version.
    let functions = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> *const Functions>(symbol)() };
    // SAFETY: every version of the function table begins with the version.
    let abi = unsafe { std::ptr::addr_of!((*functions).abi).read() };
    if abi != CODEC_ABI {
        let what = format!(
            "{} has version {abi} of the codec table, but this node has version {CODEC_ABI}",
            library.display()
        );
        return Err(Error::new(what).remedy(REBUILD));
    }
    // SAFETY: the table has this version and is static.
    Ok(unsafe { &*functions })
}

fn loader_error(library: &Path) -> Error {
    // SAFETY: `dlerror` returns a null-terminated string after a failure.
    let said: *mut c_char = unsafe { libc::dlerror() };
    let why = if said.is_null() {
        String::new()
    } else {
        // SAFETY: the text of `dlerror` is null-terminated, and it is copied before the next call.
        unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
    };
    Error::new(format!("the codec library {} cannot be loaded: {why}", library.display())).remedy(REBUILD)
}

/// The object of a cell, and the library functions that encode this object.
struct Object {
    functions: &'static Functions,
    memory: NonNull<c_void>,
    /// Whether a failure has already been reported. Later failures are not reported, to keep the log short.
    has_complained: AtomicBool,
}

// SAFETY: the library's functions only read the object, and several threads may call them at once.
unsafe impl Send for Object {}
// SAFETY: the library's functions only read the object, and several threads may call them at once.
unsafe impl Sync for Object {}

impl Object {
    fn encode(&self) -> Result<EncodedObject> {
        let encoder = Encoder::take(self.functions)?;
        let mut size = 0;
        // SAFETY: the object and the encoder belong to this library, and no other message uses this encoder.
        let bytes = unsafe { (self.functions.encode)(self.memory.as_ptr(), encoder.memory.as_ptr(), &mut size) };
        let bytes = NonNull::new(bytes.cast_mut()).ok_or_else(|| Error::new("the object cannot be encoded"))?;
        Ok(EncodedObject { bytes, size, encoder: Some(encoder) })
    }

    fn complain(&self, why: &str) {
        if !self.has_complained.swap(true, Ordering::Relaxed) {
            eprintln!("hopmeter: an object did not arrive correctly: {why}");
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the object is not used again.
        unsafe { (self.functions.close)(self.memory.as_ptr()) }
    }
}

/// The codec of a cell.
struct LibraryCodec(Arc<Object>);

impl LibraryCodec {
    /// Runs all code that would otherwise delay the first message. A wrongly decoded object is not an error of this
    /// function, because such an object must fail the cell, not the node.
    fn warm_up(&self) -> Result<()> {
        let encoded = self.0.encode()?;
        self.decode(encoded.as_bytes()).is_right(true);
        Ok(())
    }
}

impl Codec for LibraryCodec {
    fn encode(&self) -> Result<Box<dyn Encoded>> {
        Ok(Box::new(self.0.encode()?))
    }

    fn decode<'a>(&self, payload: &'a [u8]) -> Box<dyn Decoded + 'a> {
        // SAFETY: the function only reads the payload, and the decoded object is dropped before the payload.
        let decoded = unsafe { (self.0.functions.decode)(payload.as_ptr(), payload.len()) };
        Box::new(DecodedObject { object: self.0.clone(), decoded: NonNull::new(decoded), payload: PhantomData })
    }
}

/// The memory that one message is encoded into, which the thread reuses for later messages.
struct Encoder {
    functions: &'static Functions,
    memory: NonNull<c_void>,
}

impl Encoder {
    /// Returns a spare encoder of this thread, or creates one.
    fn take(functions: &'static Functions) -> Result<Self> {
        let spare = SPARE.with_borrow_mut(|spare| {
            let at = spare.iter().position(|one| std::ptr::eq(one.functions, functions));
            at.map(|at| spare.swap_remove(at))
        });
        match spare {
            Some(spare) => Ok(spare),
            None => {
                // SAFETY: the library has the table's version.
                let memory = NonNull::new(unsafe { (functions.open_encoder)() });
                Ok(Self { functions, memory: memory.ok_or_else(|| Error::new("the library has no encoder"))? })
            }
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the encoder is not used again.
        unsafe { (self.functions.close_encoder)(self.memory.as_ptr()) }
    }
}

/// Encoded bytes, and the encoder that owns their memory.
struct EncodedObject {
    bytes: NonNull<u8>,
    size: usize,
    encoder: Option<Encoder>,
}

impl EncodedObject {
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: the bytes are valid until the encoder is used again, and this object holds the encoder.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr(), self.size) }
    }
}

impl Encoded for EncodedObject {
    fn bytes(&self) -> Result<usize> {
        Ok(self.size)
    }

    fn write(&self, payload: &mut [u8]) -> Result<()> {
        payload.copy_from_slice(self.as_bytes());
        Ok(())
    }
}

impl Drop for EncodedObject {
    fn drop(&mut self) {
        if let Some(encoder) = self.encoder.take() {
            // When a thread exits, its list of spare encoders is already gone, and the encoder is dropped.
            let _ = SPARE.try_with(|spare| spare.borrow_mut().push(encoder));
        }
    }
}

/// A decoded object, which may refer to its payload. `None` if the payload is not a valid message.
struct DecodedObject<'a> {
    object: Arc<Object>,
    decoded: Option<NonNull<c_void>>,
    payload: PhantomData<&'a [u8]>,
}

impl Decoded for DecodedObject<'_> {
    fn is_right(&self, thoroughly: bool) -> bool {
        let Some(decoded) = self.decoded else {
            self.object.complain("the bytes are not a valid message of the schema");
            return false;
        };
        if !thoroughly {
            return true;
        }
        // SAFETY: both objects belong to this library.
        let equal = unsafe { (self.object.functions.equal)(self.object.memory.as_ptr(), decoded.as_ptr()) } == 1;
        if !equal {
            self.object.complain("the object differs from the sent object");
        }
        equal
    }
}

impl Drop for DecodedObject<'_> {
    fn drop(&mut self) {
        if let Some(decoded) = self.decoded {
            // SAFETY: the decoded object is not used again.
            unsafe { (self.object.functions.close_decoded)(decoded.as_ptr()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(library: &str) -> Error {
        match open(Path::new(library), Path::new("/dev/null")) {
            Ok(_) => panic!("{library} is no codec library"),
            Err(error) => error,
        }
    }

    #[test]
    fn a_library_that_is_not_there_or_has_no_table_is_an_error_with_its_remedy() {
        for (library, why) in [("/no/such/codec.so", "cannot open"), ("libc.so.6", "hopmeter_codec")] {
            let error = failure(library);
            assert!(error.what_text().contains(library) && error.what_text().contains(why), "{error}");
            assert_eq!(error.remedy_text(), Some(REBUILD));
        }
    }
}
