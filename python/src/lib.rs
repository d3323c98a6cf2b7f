//! The Python package's way into the library: `tombolo._native`.
//!
//! Thin handles, no policy. What users see, with names, types and documentation, is written in Python in
//! `package/tombolo/`; this module moves calls, errors and signals across:
//!
//! - every call that may take long lets go of the interpreter's lock, so other threads run;
//! - a wait looks at signals every [`SIGNAL_INTERVAL`](wait::SIGNAL_INTERVAL), so Ctrl-C ends it;
//! - an error becomes the class of `tombolo.errors` that its code names, or `OSError` for files;
//! - a handle that was closed, or that a forked child inherited, says so instead of doing anything.

mod card;
mod errors;
mod handle;
mod report;
mod slot;
mod space;
mod wait;

use pyo3::prelude::*;

/// `tombolo._native`
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(error_codes, module)?)?;
    module.add_class::<card::NativeCard>()?;
    module.add_class::<report::NativeReport>()?;
    module.add_class::<space::NativeSpace>()?;
    module.add_class::<space::NativeMapping>()?;
    module.add_class::<slot::NativeSlot>()?;
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
