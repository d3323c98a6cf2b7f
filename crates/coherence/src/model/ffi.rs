//! The Verilated directory as an object.
//!
//! The structures are those of `glue.cpp`, field by field; sizes are compared when a model is loaded.

use std::ffi::{c_int, c_void};
use std::path::Path;

use super::build::ModelError;
use super::loaded::{outcome, Loaded};

/// One row of 64 bytes, as words.
pub type Row = [u32; 16];

/// Inputs of a slice in one cycle: the ports of `harness.sv`.
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

/// Outputs of a slice in one cycle.
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

/// The register port, and signals common to all slices.
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

type Cycle = unsafe extern "C" fn(
    *mut c_void,
    *const SliceInputs,
    *mut SliceOutputs,
    *mut Registers,
) -> c_int;

/// One directory controller.
pub struct DirectoryModel {
    loaded: Loaded<Cycle>,
    slices: usize,
}

impl DirectoryModel {
    /// Loads a library that [`super::build()`] made for this many slices, and makes a model.
    ///
    /// # Errors
    /// [`ModelError::Load`].
    pub fn load(path: &Path, slices: usize) -> Result<Self, ModelError> {
        let shape = [
            size_of::<SliceInputs>(),
            size_of::<SliceOutputs>(),
            size_of::<Registers>(),
            slices,
        ];
        // SAFETY: `Cycle` is the signature in glue.cpp.
        let loaded = unsafe { Loaded::load(path, &shape) }?;
        Ok(Self { loaded, slices })
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
        let (cycle, model) = self.loaded.parts();
        // SAFETY: the model is alive, the arrays have as many elements as it has slices, and
        // `&mut self` excludes every other use.
        outcome(unsafe { cycle(model, inputs.as_ptr(), outputs.as_mut_ptr(), registers) })
    }
}
