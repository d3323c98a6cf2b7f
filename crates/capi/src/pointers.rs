//! Arguments from C: strings, output parameters, byte arrays.

use crate::status::Failure;
use std::ffi::{c_char, c_void, CStr, CString};

/// A string of the caller.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is a null pointer")));
    }
    // SAFETY: not null, and the header asks for a string that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// As [`text`], where null means absent.
pub unsafe fn optional_text<'a>(
    pointer: *const c_char,
    what: &str,
) -> Result<Option<&'a str>, Failure> {
    match pointer.is_null() {
        true => Ok(None),
        // SAFETY: the same promise.
        false => unsafe { text(pointer, what) }.map(Some),
    }
}

/// An output parameter: checked before the call does anything, written when it succeeds.
pub struct OutputPointer<T>(*mut T);

impl<T> OutputPointer<T> {
    /// The caller's location for a result.
    pub fn at(pointer: *mut T, what: &str) -> Result<Self, Failure> {
        match pointer.is_null() {
            true => Err(Failure::argument(format!("{what} is a null pointer"))),
            false => Ok(Self(pointer)),
        }
    }

    /// Writes the result.
    pub unsafe fn give(self, value: T) {
        // SAFETY: not null, and the header asks for a place for a T; what was in it is plain data.
        unsafe { self.0.write(value) }
    }
}

/// Copies the caller's bytes, so that no other thread changes them during the call.
pub unsafe fn bytes(pointer: *const c_void, count: usize, what: &str) -> Result<Vec<u8>, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is a null pointer")));
    }
    if count > 1 << 16 {
        return Err(Failure::argument(format!(
            "{what} of {count} bytes: no argument of a kernel is so large"
        )));
    }
    // SAFETY: not null, and the header requires `count` readable bytes.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), count) }.to_vec())
}

/// An array of the caller.
pub unsafe fn array<'a, T>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is a null pointer")));
    }
    if count == 0 || count > 1 << 16 {
        return Err(Failure::argument(format!("{what}: {count} of them")));
    }
    // SAFETY: not null, and the header requires `count` elements.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A string for the caller, who frees it with `tmb_text_free`.
pub fn new_text(text: String) -> Result<*mut c_char, Failure> {
    let text = CString::new(text).map_err(|error| Failure::argument(error.to_string()))?;
    Ok(text.into_raw())
}

#[no_mangle]
pub unsafe extern "C" fn tmb_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it comes from `new_text`, as the header asks.
        drop(unsafe { CString::from_raw(text) });
    }
}
