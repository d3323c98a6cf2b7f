//! The Verilated cache controller as an object.
//!
//! The structures are those of `glue.cpp`, field by field; sizes are compared when a model is loaded.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};

use crate::model::{outcome, Loaded, ModelError, Mutation, Recipe, Row};

/// Size of a cache controller: its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerGeometry {
    /// Number of sets.
    pub sets: usize,
    /// Ways per set.
    pub ways: usize,
    /// Maximum cycles of a hold once another party wants the line.
    pub hold_limit: usize,
}

impl ControllerGeometry {
    /// 32 KiB, as the RTL's parameters say.
    pub const DEFAULT: Self = Self {
        sets: 64,
        ways: 4,
        hold_limit: 1024,
    };

    /// Eight lines, so that everything meets everything.
    pub const SMALL: Self = Self {
        sets: 4,
        ways: 2,
        hold_limit: 200,
    };
}

/// Builds a model, or finds it in the cache. A mutant has no assertions: the tests have to find it.
///
/// # Errors
/// [`ModelError`] names the tool and what it said.
pub fn build(
    geometry: ControllerGeometry,
    mutation: Option<Mutation>,
) -> Result<PathBuf, ModelError> {
    Recipe {
        name: "cache_controller",
        rtl: "rtl/cache_controller/tmb_cache_controller.f",
        top: "tmb_cache_controller_harness",
        harness: include_str!("harness.sv"),
        glue: include_str!("glue.cpp"),
        parameters: vec![
            ("Sets", geometry.sets),
            ("Ways", geometry.ways),
            ("HoldLimit", geometry.hold_limit),
        ],
        rtl_defines: Vec::new(),
        defines: Vec::new(),
        assertions: mutation.is_none(),
        mutation,
    }
    .build()
}

/// Inputs of one cycle: the ports of `harness.sv`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the names are those of the ports
pub struct Inputs {
    pub access_row: Row,
    pub response_data_row: Row,
    pub access_strobe: u64,
    pub access_line: u64,
    pub forward: u64,
    pub response: u64,
    pub response_data_header: u64,
    pub timeout_period: u32,
    pub access_valid: u8,
    pub access_kind: u8,
    pub access_held: u8,
    pub access_hold: u8,
    pub access_tag: u8,
    pub access_second: u8,
    pub answer_ready: u8,
    pub request_ready: u8,
    pub response_ready: u8,
    pub response_data_ready: u8,
    pub forward_valid: u8,
    pub response_valid: u8,
    pub response_data_valid: u8,
    pub response_data_last: u8,
    pub reset_n: u8,
    pub reserved: u8,
}

/// Outputs of one cycle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the names are those of the ports
pub struct Outputs {
    pub answer_row: Row,
    pub response_data_row: Row,
    pub request: u64,
    pub response: u64,
    pub response_data_header: u64,
    pub error_info: u16,
    pub access_ready: u8,
    pub answer_valid: u8,
    pub answer_tag: u8,
    pub answer_status: u8,
    pub answer_hold: u8,
    pub request_valid: u8,
    pub response_valid: u8,
    pub response_data_valid: u8,
    pub response_data_last: u8,
    pub forward_ready: u8,
    pub response_ready: u8,
    pub response_data_ready: u8,
    pub events: u8,
    pub error_valid: u8,
    pub error_cause: u8,
}

type Cycle = unsafe extern "C" fn(*mut c_void, *const Inputs, *mut Outputs) -> c_int;

/// One cache controller.
pub struct ControllerModel(Loaded<Cycle>);

impl ControllerModel {
    /// Loads a library that [`build`] made, and makes a model.
    ///
    /// # Errors
    /// [`ModelError::Load`].
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let shape = [size_of::<Inputs>(), size_of::<Outputs>()];
        // SAFETY: `Cycle` is the signature in glue.cpp.
        Ok(Self(unsafe { Loaded::load(path, &shape) }?))
    }

    /// One clock cycle: the outputs are those of the cycle, given the inputs; the edge follows.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] when an assertion failed.
    pub fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), ModelError> {
        let (cycle, model) = self.0.parts();
        // SAFETY: the model is alive, and `&mut self` excludes every other use.
        outcome(unsafe { cycle(model, inputs, outputs) })
    }
}
