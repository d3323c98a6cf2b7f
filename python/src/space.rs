//! `NativeSpace` and `NativeMapping`

use crate::card::page_size;
use crate::flow::{Plan, Plugged};
use crate::handle::Handle;
use crate::memory::{way_of, NativeMemory};
use crate::report::SharedNames;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tombolo::{
    AddressSpace, Advice, AdviceError, Error, FileState, MapOptions, MappedRange, Mapping,
    MemoryKind, PageSize, TrapWay, UnknownMemory, VirtAddr,
};

/// An address space.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeSpace {
    space: Handle<AddressSpace>,
    asid: u8,
    names: SharedNames,
}

impl NativeSpace {
    pub(crate) fn new(space: AddressSpace, names: SharedNames) -> Self {
        Self {
            asid: space.asid().get(),
            space: Handle::new("address space", space),
            names,
        }
    }

    /// Remembers a mapping for the page of a report.
    fn mapped(&self, what: &str, mapped: Mapping, mode: &str) -> NativeMapping {
        let size = mapped.page_size();
        self.names
            .mapped(self.asid, what, &mapped, size, mode == "rw");
        NativeMapping::new(mapped)
    }

    /// The space, for something that needs it as long as it lives.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn shared(&self, py: Python<'_>) -> PyResult<Arc<AddressSpace>> {
        self.space.shared(py)
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

    #[pyo3(signature = (path, mode, *, create, offset, bytes, address, page_size, direct, memory, file_state, holes))]
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
        direct: bool,
        memory: Option<&str>,
        file_state: Option<&str>,
        holes: bool,
    ) -> PyResult<NativeMapping> {
        let mut options = options(mode, create, offset, bytes, address, page_size)?;
        if direct {
            options = options.direct();
        }
        if let Some(memory) = memory {
            let kind: Result<MemoryKind, UnknownMemory> = memory.parse();
            let kind = kind.map_err(|error| PyValueError::new_err(error.to_string()))?;
            options = options.memory(kind);
        }
        options = match file_state {
            None => options,
            Some("warm") => options.file_state(FileState::Warm),
            Some("cold") => options.file_state(FileState::Cold),
            Some(other) => {
                let rule = format!("file_state is {other:?}: 'warm' or 'cold'");
                return Err(PyValueError::new_err(rule));
            }
        };
        if holes {
            options = options.holes();
        }
        let mapped = self
            .space
            .call(py, |space| space.map_file(&path, options))?;
        let what = path.display().to_string();
        Ok(self.mapped(&what, mapped, mode))
    }

    /// Maps a whole file that is open, by its descriptor, which stays the caller's.
    fn map_descriptor(
        &self,
        py: Python<'_>,
        descriptor: i32,
        name: &str,
        mode: &str,
        page_size: Option<u64>,
    ) -> PyResult<NativeMapping> {
        let options = options(mode, None, 0, None, None, page_size)?;
        // The path opens the same file anew, with a position and a life of its own.
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(mode == "rw")
            .open(format!("/proc/self/fd/{descriptor}"))?;
        let map = |space: &AddressSpace| space.map_open_file(file, Path::new(name), options);
        let mapped = self.space.call(py, map)?;
        Ok(self.mapped(name, mapped, mode))
    }

    /// Memory for the program and kernels; trapped in some way, if the system lets them have it.
    fn alloc(
        &self,
        py: Python<'_>,
        bytes: usize,
        pages: Option<u64>,
        traps: Option<&str>,
        direct: bool,
    ) -> PyResult<NativeMemory> {
        let size = pages.map(page_size).transpose()?;
        let way = traps.map(way_of).transpose()?;
        let way = way.unwrap_or_default();
        let memory = self.space.call(py, |space| match (size, way) {
            (None, _) if direct => space.alloc_direct(bytes, space.page_for(bytes)?),
            (Some(size), _) if direct => space.alloc_direct(bytes, size),
            (None, TrapWay::Protect) => space.alloc(bytes),
            (Some(size), TrapWay::Protect) => space.alloc_with_pages(bytes, size),
            (size, way) => {
                // Each page of the system costs there, so small ones are the better ones.
                let size = size.unwrap_or(PageSize::KIB_4);
                space.alloc_with_traps(bytes, size, way)
            }
        })?;
        self.names.shared(self.asid, "shared memory", &memory);
        let part = (0, memory.len() as u64);
        Ok(NativeMemory::new(memory, part, None))
    }

    /// Shares memory that the program has; `pinned` keeps it where it is. Of it, `part` (first byte and bytes) was
    /// asked for.
    fn register(
        &self,
        py: Python<'_>,
        start: usize,
        bytes: usize,
        part: (u64, u64),
        pages: Option<u64>,
        pinned: Py<PyAny>,
    ) -> PyResult<NativeMemory> {
        let size = pages.map_or(Ok(PageSize::MIB_2), page_size)?;
        let memory = self.space.call(py, |space| {
            // SAFETY: `_space.py` passes a writable buffer of an array, which `pinned` keeps mapped. The
            // program and the interpreter access it as plain bytes, for which all values are valid.
            unsafe { space.register_with_pages(start as *mut u8, bytes, size) }
        })?;
        self.names.shared(self.asid, "registered memory", &memory);
        Ok(NativeMemory::new(memory, part, Some(pinned)))
    }

    /// Keeps bytes moving between ports, devices and memory: of each port its name, bytes, and packets.
    fn flow(
        &self,
        py: Python<'_>,
        plugs: Vec<Plugged<'_>>,
        deadline_ps: Option<u64>,
        progress: Option<Py<PyAny>>,
        listening: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(String, u64, u64)>> {
        let plan = Plan::new(py, plugs, deadline_ps, progress, listening)?;
        let (ended, raised) = self.space.call(py, |space| plan.run(space))?;
        let flowed = match (ended, raised) {
            (Err(Error::Interrupted) | Ok(_), Some(raised)) => return Err(raised),
            (Err(error), _) => return Err(crate::errors::raise(py, &error)),
            (Ok(flowed), None) => flowed,
        };
        let flowed = flowed.into_iter();
        Ok(flowed
            .map(|port| (port.port, port.bytes, port.packets))
            .collect())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.space.close(py, AddressSpace::close)
    }
}

/// A mapping of a file.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeMapping {
    #[pyo3(get)]
    address: u64,
    #[pyo3(get)]
    bytes: u64,
    mapping: Handle<Mapping>,
}

impl NativeMapping {
    fn new(mapped: Mapping) -> Self {
        Self {
            address: mapped.address().get(),
            bytes: mapped.bytes(),
            mapping: Handle::new("mapping", mapped),
        }
    }

    /// Some bytes of it, for a transfer of a stream.
    ///
    /// # Errors
    /// Beyond its end, or none.
    pub(crate) fn part(&self, py: Python<'_>, offset: u64, bytes: u64) -> PyResult<MappedRange> {
        self.mapping
            .call(py, |mapping| mapping.slice(offset, bytes))
    }
}

#[pymethods]
impl NativeMapping {
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.call(py, Mapping::sync)
    }

    /// Advice in words, on some bytes; on all if there are none.
    fn advise(
        &self,
        py: Python<'_>,
        advice: &str,
        offset: u64,
        bytes: Option<u64>,
    ) -> PyResult<()> {
        let advice: Advice = match advice {
            "" => Advice::default(),
            words => words
                .parse()
                .map_err(|error: AdviceError| PyValueError::new_err(error.to_string()))?,
        };
        let bytes = bytes.unwrap_or(self.bytes.saturating_sub(offset));
        let advise = |mapping: &Mapping| mapping.advise_range(offset, bytes, advice);
        self.mapping.call(py, advise)
    }

    fn prefetch(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.call(py, Mapping::prefetch)
    }

    fn make_hot(&self, py: Python<'_>) -> PyResult<u64> {
        self.mapping.call(py, Mapping::make_hot)
    }

    fn unmap(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.close(py, Mapping::unmap)
    }
}
