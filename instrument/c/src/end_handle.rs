//! Owns an adapter's object together with its function table. Dropping the handle closes the object.

/// Declares the type that owns an open publisher, subscriber, client or server.
macro_rules! end_handle {
    ($name:ident, $raw:ty, $calls:ty) => {
        pub struct $name($raw);

        // SAFETY: the ABI says that only one thread at a time uses a link end, and that the thread may change.
        unsafe impl Send for $name {}

        impl $name {
            /// Takes ownership of a link end that the adapter has just opened.
            pub fn adopt(raw: $raw) -> hopmeter_instrument::Result<Box<Self>> {
                if raw.object.is_null() || raw.calls.is_null() {
                    let what = concat!("the adapter returned null, although a ", stringify!($name), " was requested");
                    return Err(hopmeter_instrument::Error::new(what.replace(" C", " ")));
                }
                Ok(Box::new(Self(raw)))
            }

            fn object(&self) -> *mut std::ffi::c_void {
                self.0.object
            }

            fn calls(&self) -> &'static $calls {
                // SAFETY: the ABI guarantees that tables are valid as long as the process runs.
                unsafe { &*self.0.calls }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                (self.calls().close)(self.object());
            }
        }
    };
}

pub(crate) use end_handle;
