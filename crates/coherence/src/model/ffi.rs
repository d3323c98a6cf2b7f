//! The Verilated directory as an object: the room of the foreign-function interface.
//!
//! The structures are those of `glue.cpp`, field by field; sizes are compared when a model is loaded.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use libloading::Library;

use super::build::ModelError;

/// One row of 64 bytes, as words.
pub type Row = [u32; 16];

/// What goes into a slice in one cycle: the ports of `harness.sv`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the names are those of the ports
pub struct SliceInputs {
    pub request_data_row: Row,
    pub response_data_row: Row,
    pub operation_row: Row,
    pub r_row: Row,
    pub request: u64,
    pub request_data_header: u64,
    pub response: u64,
    pub response_data_header: u64,
    pub operation_line: u64,
    pub r_id: u16,
    pub b_id: u16,
    pub request_valid: u8,
    pub request_data_valid: u8,
    pub request_data_last: u8,
    pub response_valid: u8,
    pub response_data_valid: u8,
    pub response_data_last: u8,
    pub forward_ready: u8,
    pub response_ready: u8,
    pub response_data_ready: u8,
    pub operation_valid: u8,
    pub operation_kind: u8,
    pub operation_tag: u8,
    pub operation_dmask: u8,
    pub operation_last: u8,
    pub operation_ready: u8,
    pub ar_ready: u8,
    pub aw_ready: u8,
    pub w_ready: u8,
    pub r_valid: u8,
    pub r_resp: u8,
    pub r_last: u8,
    pub b_valid: u8,
    pub b_resp: u8,
}

/// What comes out of a slice in one cycle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the names are those of the ports
pub struct SliceOutputs {
    pub response_data_row: Row,
    pub operation_row: Row,
    pub w_row: Row,
    pub forward: u64,
    pub response: u64,
    pub response_data_header: u64,
    pub ar_addr: u64,
    pub aw_addr: u64,
    pub w_strb: u64,
    pub ar_id: u16,
    pub aw_id: u16,
    pub request_ready: u8,
    pub request_data_ready: u8,
    pub response_ready: u8,
    pub response_data_ready: u8,
    pub forward_valid: u8,
    pub response_valid: u8,
    pub response_data_valid: u8,
    pub response_data_last: u8,
    pub operation_ready: u8,
    pub operation_valid: u8,
    pub operation_tag: u8,
    pub operation_last: u8,
    pub ar_valid: u8,
    pub aw_valid: u8,
    pub w_valid: u8,
    pub w_last: u8,
    pub r_ready: u8,
    pub b_ready: u8,
}

/// The register port and what concerns all slices.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the names are those of the ports
pub struct Registers {
    pub write_data: u32,
    pub read_data: u32,
    pub write: u8,
    pub write_addr: u8,
    pub read: u8,
    pub read_addr: u8,
    pub read_valid: u8,
    pub interrupt: u8,
    pub reset_n: u8,
    pub reserved: u8,
}

type Create = unsafe extern "C" fn() -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Number = unsafe extern "C" fn() -> u32;
type Bytes = unsafe extern "C" fn(u32) -> u32;
type Cycle = unsafe extern "C" fn(
    *mut c_void,
    *const SliceInputs,
    *mut SliceOutputs,
    *mut Registers,
) -> c_int;

/// One directory controller.
pub struct Model {
    handle: NonNull<c_void>,
    cycle: Cycle,
    free: Free,
    slices: usize,
    /// Unloaded after `drop` freed the model.
    _library: Library,
}

impl Model {
    /// Loads a library that [`super::build()`] made, and makes a model.
    ///
    /// # Errors
    /// [`ModelError::Load`].
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let wrong = |reason: String| ModelError::Load {
            path: path.to_owned(),
            reason,
        };
        // SAFETY: the library was built from Verilator's output and glue.cpp; its initialisers fill
        // tables of the Verilated runtime and nothing else.
        let library = unsafe { Library::new(path) }.map_err(|e| wrong(e.to_string()))?;
        macro_rules! symbol {
            ($name:literal, $kind:ty) => {
                // SAFETY: glue.cpp defines the symbol with this signature.
                *unsafe { library.get::<$kind>($name) }.map_err(|e| wrong(e.to_string()))?
            };
        }
        let create = symbol!(b"directory_create\0", Create);
        let free = symbol!(b"directory_free\0", Free);
        let slices = symbol!(b"directory_slices\0", Number);
        let bytes = symbol!(b"directory_bytes\0", Bytes);
        let cycle = symbol!(b"directory_cycle\0", Cycle);
        let expected = [
            size_of::<SliceInputs>(),
            size_of::<SliceOutputs>(),
            size_of::<Registers>(),
        ];
        for (what, expected) in (0..).zip(expected) {
            // SAFETY: a function of a number that returns a constant.
            let found = unsafe { bytes(what) } as usize;
            if found != expected {
                return Err(wrong(format!(
                    "structure {what} has {found} bytes, not {expected}"
                )));
            }
        }
        // SAFETY: no arguments; the results are checked.
        let (handle, slices) = unsafe { (create(), slices() as usize) };
        let handle = NonNull::new(handle).ok_or_else(|| wrong("no model".to_owned()))?;
        Ok(Self {
            handle,
            cycle,
            free,
            slices,
            _library: library,
        })
    }

    /// Number of slices.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.slices
    }

    /// One clock cycle: the outputs are those of the cycle, given the inputs; the edge follows.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] when an assertion failed.
    ///
    /// # Panics
    /// If there are not as many inputs and outputs as slices.
    pub fn cycle(
        &mut self,
        inputs: &[SliceInputs],
        outputs: &mut [SliceOutputs],
        registers: &mut Registers,
    ) -> Result<(), ModelError> {
        assert!(inputs.len() == self.slices && outputs.len() == self.slices);
        // SAFETY: the handle is alive, the arrays have as many elements as the model has slices, and
        // `&mut self` excludes every other use.
        let code = unsafe {
            (self.cycle)(
                self.handle.as_ptr(),
                inputs.as_ptr(),
                outputs.as_mut_ptr(),
                registers,
            )
        };
        if code == 0 {
            Ok(())
        } else {
            Err(ModelError::Stopped)
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` of the same library.
        unsafe { (self.free)(self.handle.as_ptr()) };
    }
}
