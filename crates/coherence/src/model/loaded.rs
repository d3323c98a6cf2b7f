//! A shared library with one Verilated model: the room of the foreign-function interface.
//!
//! All models have the C functions of `glue.hpp`, and `model_cycle` with a signature of their own.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;

use libloading::Library;

use super::build::ModelError;

type Create = unsafe extern "C" fn() -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Shape = unsafe extern "C" fn(u32) -> u32;

/// A model whose `model_cycle` is a `Cycle`.
pub(crate) struct Loaded<Cycle> {
    handle: NonNull<c_void>,
    cycle: Cycle,
    free: Free,
    /// Unloaded after `drop` freed the model.
    _library: Library,
}

impl<Cycle: Copy> Loaded<Cycle> {
    /// Loads a library that [`super::Recipe`] made, and makes a model. Its shape, sizes of structures
    /// and of arrays, must be the caller's.
    ///
    /// # Safety
    /// `Cycle` must be the type of a pointer to the glue's `model_cycle`.
    pub(crate) unsafe fn load(path: &Path, shape: &[usize]) -> Result<Self, ModelError> {
        let wrong = |reason: String| ModelError::Load {
            path: path.to_owned(),
            reason,
        };
        // SAFETY: the library was built from Verilator's output and our glue; its initialisers fill
        // tables of the Verilated runtime and nothing else.
        let library = unsafe { Library::new(path) }.map_err(|e| wrong(e.to_string()))?;
        macro_rules! symbol {
            ($name:literal, $kind:ty) => {
                // SAFETY: the glue defines the symbol with this signature.
                *unsafe { library.get::<$kind>($name) }.map_err(|e| wrong(e.to_string()))?
            };
        }
        let create = symbol!(b"model_create\0", Create);
        let free = symbol!(b"model_free\0", Free);
        let numbers = symbol!(b"model_shape\0", Shape);
        let cycle = symbol!(b"model_cycle\0", Cycle);
        for (index, &expected) in (0..).zip(shape) {
            // SAFETY: a function of a number that returns a number.
            let found = unsafe { numbers(index) } as usize;
            if found != expected {
                return Err(wrong(format!(
                    "number {index} of its shape is {found}, not {expected}"
                )));
            }
        }
        // SAFETY: no arguments; the result is checked.
        let handle = NonNull::new(unsafe { create() });
        Ok(Self {
            handle: handle.ok_or_else(|| wrong("no model".to_owned()))?,
            cycle,
            free,
            _library: library,
        })
    }

    /// The function and its model, exclusively.
    pub(crate) fn parts(&mut self) -> (Cycle, *mut c_void) {
        (self.cycle, self.handle.as_ptr())
    }
}

impl<Cycle> Drop for Loaded<Cycle> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` of the same library.
        unsafe { (self.free)(self.handle.as_ptr()) };
    }
}

/// Result of `model_cycle`: a code other than 0 means that the model ended itself.
pub(crate) fn outcome(code: std::ffi::c_int) -> Result<(), ModelError> {
    if code == 0 {
        Ok(())
    } else {
        Err(ModelError::Stopped)
    }
}
