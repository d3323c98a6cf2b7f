//! Builds RTL into executables with Verilator, a C++ compiler, and a cache by content.
//!
//! All Verilated code of the tree is built here, in one of two forms:
//!
//! - a **model** ([`Builder::model`]) is a shared library with one C interface for any RTL: the simulated card loads
//!   it, for shell and kernels alike;
//! - a **program** ([`Builder::program`]) is RTL with C++ of the caller: a library with its own interface (the
//!   directory, the cache controller), a standalone bench, or a simulation that cocotb drives. The command `verilate`
//!   builds one for the tests in Python.
//!
//! A model may also be prebuilt by a package ([`Progress::Prebuilt`]).
//!
//! Both are cached in a folder named by the hash of every input: RTL, generated text, C++, flags, versions of both
//! tools, the CPU. A folder appears atomically (it is built under another name and renamed), concurrent builders of the
//! same entry take turns at a lock, so that the second finds it complete, and a damaged folder (`entry`) is built
//! again.

mod builder;
mod cached_model;
mod compile;
mod compiler;
mod design;
mod entry;
mod error;
mod model;
mod prebuilt;
mod program;
mod sandbox;
mod toolchain;
mod verilator;

pub use builder::{remove_unfinished, Builder, BuiltModel, Progress, ProgressSink};
pub use cached_model::{models, CachedModel};
pub use compiler::Compiler;
pub use design::{Design, FileSet};
pub use error::BuildError;
pub use model::compile::ABI;
pub use model::ports::{Direction, ModelPort};
pub use model::sleep::can_sleep;
pub use model::verilate::{ModelInfo, Phases};
pub use prebuilt::PrebuiltState;
pub use program::{Effort, Form, Program};
pub use sandbox::{restrict_files, sandbox_state, Limits, SandboxState};
pub use toolchain::{cache_root, verilator_version, Toolchain};
