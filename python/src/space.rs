//! `NativeSpace` and `NativeMapping`

use crate::card::page_size;
use crate::handle::Handle;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use tombolo::{AddressSpace, MapOptions, Mapping, VirtAddr};

/// An address space.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeSpace {
    /// Shared with its mappings and slots: it ends after them.
    space: Handle<Arc<AddressSpace>>,
}

impl NativeSpace {
    pub(crate) fn new(space: AddressSpace) -> Self {
        Self {
            space: Handle::new("address space", Arc::new(space)),
        }
    }

    /// The space, for something that needs it as long as it lives.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn shared(&self, py: Python<'_>) -> PyResult<Arc<AddressSpace>> {
        self.space.call(py, |space| Ok(Arc::clone(space)))
    }
}

fn options(
    mode: &str,
    create: Option<u64>,
    offset: u64,
    bytes: Option<u64>,
    address: Option<u64>,
    pages: Option<u64>,
) -> PyResult<MapOptions> {
    let mut options = match (mode, create) {
        ("r", None) => MapOptions::read_only(),
        ("rw", None) => MapOptions::read_write(),
        ("rw", Some(bytes)) => MapOptions::create(bytes),
        ("r", Some(_)) => {
            let rule = "create makes a file of zeroes, so it needs mode \"rw\"";
            return Err(PyValueError::new_err(rule));
        }
        (other, _) => {
            let rule = format!("mode {other:?}: use \"r\" or \"rw\"");
            return Err(PyValueError::new_err(rule));
        }
    };
    options = options.offset(offset);
    if let Some(bytes) = bytes {
        options = options.bytes(bytes);
    }
    if let Some(bytes) = pages {
        options = options.page_size(page_size(bytes)?);
    }
    if let Some(address) = address {
        let address = VirtAddr::new(address).ok_or_else(|| {
            PyValueError::new_err(format!("address {address:#x} has more than 48 bits"))
        })?;
        options = options.address(address);
    }
    Ok(options)
}

#[pymethods]
impl NativeSpace {
    #[getter]
    fn asid(&self, py: Python<'_>) -> PyResult<u8> {
        self.space.call(py, |space| Ok(space.asid().get()))
    }

    #[pyo3(signature = (path, mode, *, create, offset, bytes, address, page_size))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn map_file(
        &self,
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        create: Option<u64>,
        offset: u64,
        bytes: Option<u64>,
        address: Option<u64>,
        page_size: Option<u64>,
    ) -> PyResult<NativeMapping> {
        let options = options(mode, create, offset, bytes, address, page_size)?;
        let space = self.shared(py)?;
        let mapped = self
            .space
            .call(py, |space| space.map_file(&path, options))?;
        Ok(NativeMapping {
            address: mapped.address().get(),
            bytes: mapped.bytes(),
            mapping: Handle::new("mapping", (mapped, space)),
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.space.close(py, |space| {
            drop(space);
            Ok(())
        })
    }
}

/// A mapping of a file.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeMapping {
    #[pyo3(get)]
    address: u64,
    #[pyo3(get)]
    bytes: u64,
    /// The mapping ends before the space is let go: fields of a tuple do so in order.
    mapping: Handle<(Mapping, Arc<AddressSpace>)>,
}

#[pymethods]
impl NativeMapping {
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.call(py, |(mapping, _)| mapping.sync())
    }

    fn prefetch(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.call(py, |(mapping, _)| mapping.prefetch())
    }

    fn unmap(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.close(py, |(mapping, _space)| mapping.unmap())
    }
}
