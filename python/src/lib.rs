//! The Python package: `tombolo._native`.
//!
//! The classes of the public interface with their signatures and documentation; `package/tombolo/_native.pyi` is
//! generated from them (`tools/python-stubs`). In Python there are only tuples, buffers, and what numpy, pandas and
//! matplotlib are needed for. Here:
//!
//! - every long call releases the interpreter's lock, so other threads run;
//! - a wait checks for signals every [`SIGNAL_INTERVAL`](wait::SIGNAL_INTERVAL), so Ctrl-C ends it;
//! - an error becomes the class of `tombolo.errors` that its code names, or `OSError` for files;
//! - calls on a handle that was closed, or inherited by a forked child, fail.

mod card;
mod coherent;
mod errors;
mod flow;
mod handle;
mod mapping;
mod members;
mod memory;
mod report;
mod slot;
mod space;
mod stream;
mod values;
mod wait;
mod xrt;

use pyo3::prelude::*;

/// `tombolo._native`
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::card::Card;
    #[pymodule_export]
    use crate::coherent::{
        CoherentMemory, CoherentPages, LineHistory, PendingLine, Rpc, RpcLines, WriteBuffer,
    };
    #[pymodule_export]
    use crate::mapping::{ArrayMapping, Mapping};
    #[pymodule_export]
    use crate::memory::{Block, Memory};
    #[pymodule_export]
    use crate::report::NativeReport;
    #[pymodule_export]
    use crate::slot::Slot;
    #[pymodule_export]
    use crate::space::AddressSpace;
    #[pymodule_export]
    use crate::stream::{Connection, Stream};
    #[pymodule_export]
    use crate::xrt::{
        xrt_device_count, xrt_set_home, NativeXclbin, NativeXrtBo, NativeXrtDevice, NativeXrtIp,
        NativeXrtKernel, NativeXrtRun,
    };
    #[pymodule_export]
    use crate::{error_codes, preset_names};

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // Its name in Python.
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// A code's number, class, the class's bases, and what it means.
type CodeOfError = (u32, String, Vec<&'static str>, &'static str);

/// Every code of the library that has a class: errors of files are ``OSError``.
#[pyfunction]
fn error_codes() -> Vec<CodeOfError> {
    let codes = tombolo::ErrorCode::ALL.iter();
    let codes = codes.filter(|code| **code != tombolo::ErrorCode::File);
    codes
        .map(|code| {
            let bases = errors::bases_of(*code).to_vec();
            let class = errors::class_of(*code);
            (code.number(), class, bases, code.description())
        })
        .collect()
}

/// The presets with virtual memory, `fsrf` among them.
#[pyfunction]
fn preset_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = tombolo::Preset::names().collect();
    // Drops the preset without virtual memory.
    names.retain(|name| {
        let preset = tombolo::Preset::named(name, 0);
        preset.is_ok_and(|preset| preset.check_virtual_memory().is_ok())
    });
    names.sort_unstable();
    names
}
