//! The Python package's way into the library: `tombolo._native`.
//!
//! Thin handles, no policy. The public interface, with names, types and documentation, is written in Python in
//! `package/tombolo/`; this module forwards calls, errors and signals:
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
mod memory;
mod report;
mod slot;
mod space;
mod stream;
mod wait;
mod xrt;

use pyo3::prelude::*;

/// `tombolo._native`
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(error_codes, module)?)?;
    module.add_function(wrap_pyfunction!(preset_names, module)?)?;
    module.add_function(wrap_pyfunction!(xrt::xrt_set_home, module)?)?;
    module.add_function(wrap_pyfunction!(xrt::xrt_device_count, module)?)?;
    module.add_class::<xrt::NativeXclbin>()?;
    module.add_class::<xrt::NativeXrtDevice>()?;
    module.add_class::<xrt::NativeXrtBo>()?;
    module.add_class::<xrt::NativeXrtKernel>()?;
    module.add_class::<xrt::NativeXrtRun>()?;
    module.add_class::<xrt::NativeXrtIp>()?;
    module.add_class::<card::NativeCard>()?;
    module.add_class::<report::NativeReport>()?;
    module.add_class::<space::NativeSpace>()?;
    module.add_class::<space::NativeMapping>()?;
    module.add_class::<memory::NativeMemory>()?;
    module.add_class::<slot::NativeSlot>()?;
    module.add_class::<stream::NativeStream>()?;
    module.add_class::<stream::NativeConnection>()?;
    module.add_class::<coherent::NativeCoherent>()?;
    module.add_class::<coherent::NativeCoherentMap>()?;
    module.add_class::<coherent::NativePending>()?;
    module.add_class::<coherent::NativeRpc>()?;
    module.add_class::<coherent::NativeRpcLines>()?;
    module.add_class::<coherent::NativeWriteBuffer>()?;
    Ok(())
}

/// Every code of the library, with its class.
#[pyfunction]
fn error_codes() -> Vec<(u32, String)> {
    let codes = tombolo::ErrorCode::ALL.iter();
    codes
        .map(|code| (code.number(), errors::class_of(*code)))
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
