//! From RTL to something that runs: Verilator, a C++ compiler, and a cache by content.
//!
//! Every Verilated thing of the tree is built here, in one of two forms:
//!
//! - a **model** ([`Builder::model`]) is a shared library with one C interface whatever the RTL is: what the
//!   simulated card loads, shell and kernels alike;
//! - a **program** ([`Builder::program`]) is RTL with C++ of the caller's: a library with an interface of its
//!   own (the directory, the cache controller), a bench that runs by itself, or a simulation that cocotb
//!   drives. The command `verilate` builds one for the tests in Python.
//!
//! A model may also come ready with a package ([`Progress::Prebuilt`]).
//!
//! Both live in the cache, in a folder that the hash of every byte that can matter names: RTL, generated
//! text, C++, flags, versions of both tools, the CPU. A folder appears whole or not at all (it is built
//! beside and renamed), concurrent builders of the same thing take turns at a lock, so the second finds the
//! work done, and a folder that is not as it was built (`entry`) is built again.

mod builder;
mod compile;
mod compiler;
mod design;
mod entry;
mod error;
mod kept;
mod model;
mod prebuilt;
mod program;
mod toolchain;
mod verilator;

pub use builder::{remove_unfinished, Builder, BuiltModel, Progress, ProgressSink};
pub use compiler::Compiler;
pub use design::{Design, FileSet};
pub use error::BuildError;
pub use kept::{models, Kept};
pub use model::compile::ABI;
pub use model::ports::{Direction, ModelPort};
pub use model::sleep::can_sleep;
pub use model::verilate::{ModelInfo, Phases};
pub use prebuilt::PrebuiltState;
pub use program::{Effort, Form, Program};
pub use toolchain::{cache_root, verilator_version, Toolchain};
