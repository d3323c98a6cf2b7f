//! Models of kernels in processes of their own: an error in a model, or RTL that never ends, costs one slot and not the
//! program.
//!
//! [`Remote`] starts a process ([`KernelHost`]) that loads the model and runs [`serve_kernel`]. Both map an [`Area`] of
//! shared memory: inputs, outputs, output text, and two counters that they poll, then sleep on (futex). The process has no rights
//! but to read the folders of its RTL (`confine`), and nothing of what it writes is trusted: values of ports are copied
//! and cut to their width, everything else is a number with a range.
//!
//! An edge is sent together with the settling of the inputs that follows it, so a cycle takes one message.

mod area;
mod confine;
mod host;
mod layout;
mod remote;

pub use host::serve_kernel;
pub(crate) use layout::PortPlace;
pub(crate) use remote::Remote;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Program that evaluates the model of one kernel, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelHost {
    /// Executable that calls [`serve_kernel`].
    pub program: PathBuf,
    /// Arguments with which it does.
    pub arguments: Vec<OsString>,
    /// Address space of the process, in bytes.
    pub memory: u64,
    /// Processor time of one evaluation.
    pub time: Duration,
}

impl KernelHost {
    /// A program and its arguments, with limits of 4 GiB and 10 s.
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        Self {
            program,
            arguments,
            memory: 4 << 30,
            time: Duration::from_secs(10),
        }
    }
}

/// Parts of an evaluation, in this order; a message has one or more.
mod command {
    /// Evaluates for the first time, with the settled inputs.
    pub(super) const START: u64 = 1;
    /// A rising clock edge, with the inputs of the edge.
    pub(super) const EDGE: u64 = 2;
    /// Compares the state over the edge.
    pub(super) const COMPARE: u64 = 4;
    /// Propagates the settled inputs.
    pub(super) const SETTLE: u64 = 8;
}

/// Outcomes of an evaluation.
mod outcome {
    pub(super) const DONE: u64 = 0;
    /// Done, with output.
    pub(super) const TEXT: u64 = 1;
    /// The model ended itself; the text is the reason.
    pub(super) const FAILED: u64 = 2;
}
