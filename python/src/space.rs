//! Address spaces.

use crate::card::{page_size, Card};
use crate::errors;
use crate::flow::Plan;
use crate::handle::Handle;
use crate::mapping::{ArrayMapping, Mapping};
use crate::members::Members;
use crate::memory::{name_of, way_of, Memory};
use crate::report::SharedNames;
use crate::slot::Slot;
use crate::values::{
    self, kind, of_module, picoseconds, Deadline, Flowed, OnListening, OnProgress, PacketCounts,
    Plugs, Shape,
};
use pyo3::exceptions::{PyMemoryError, PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tombolo as library;
use tombolo::{
    Error, ErrorCode, FileState, MapOptions, MemoryKind, PageSize, TrapWay, UnknownMemory, VirtAddr,
};

/// Start, bytes, part (offset and bytes), what holds them in place, and the array if it is numpy's.
type Pages<'py> = (
    usize,
    usize,
    (u64, u64),
    Py<PyAny>,
    Option<Bound<'py, PyAny>>,
);

/// Why system calls fail although waiting for them was asked for.
const NO_USERFAULTFD: &std::ffi::CStr =
    c"the system does not let this program have userfaultfd, so system calls that are given this memory fail with \
      EFAULT while a page is with the card. It needs Linux 6.6, and `sysctl vm.unprivileged_userfaultfd=1`, read and \
      write access to /dev/userfaultfd, or CAP_SYS_PTRACE; containers also need a seccomp profile with userfaultfd";

/// The address space of one application's ports; created by :meth:`Card.create_space`.
///
/// As a context manager it is closed, with its mappings, at the end of ``with``.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct AddressSpace {
    /// Stays open as long as one of its spaces.
    card: Py<Card>,
    space: Handle<library::AddressSpace>,
    asid: u8,
    names: SharedNames,
    /// Mapped files are closed with the space; the data of arrays have to be copied back first.
    arrays: Members,
    shared: Members,
    slots: Members,
}

impl AddressSpace {
    pub(crate) fn new(
        py: Python<'_>,
        card: Py<Card>,
        space: library::AddressSpace,
        names: SharedNames,
    ) -> PyResult<Self> {
        Ok(Self {
            card,
            asid: space.asid().get(),
            space: Handle::new("address space", space),
            names,
            arrays: Members::new(py)?,
            shared: Members::new(py)?,
            slots: Members::new(py)?,
        })
    }

    /// Remembers a mapping for the page of a report.
    fn mapped(&self, what: &str, mapped: &library::Mapping, mode: &str) {
        let size = mapped.page_size();
        self.names
            .mapped(self.asid, what, mapped, size, mode == "rw");
    }

    /// The space, for something that needs it as long as it lives.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn shared(&self, py: Python<'_>) -> PyResult<Arc<library::AddressSpace>> {
        self.space.shared(py)
    }

    /// A kernel is loaded in it.
    pub(crate) fn slot_begins(&self, slot: &Bound<'_, Slot>) -> PyResult<()> {
        self.slots.add(slot)
    }

    /// The slot is closed.
    pub(crate) fn slot_ends(&self, slot: &Bound<'_, Slot>) -> PyResult<()> {
        self.slots.discard(slot)
    }

    /// Shared memory of it is freed.
    pub(crate) fn shared_ends(&self, memory: &Bound<'_, Memory>) -> PyResult<()> {
        self.shared.discard(memory)
    }

    /// An array is unmapped.
    pub(crate) fn array_ends(&self, mapping: &Bound<'_, ArrayMapping>) -> PyResult<()> {
        self.arrays.discard(mapping)
    }

    /// Frees memory with the space.
    fn with_shared<'py>(
        &self,
        memory: values::SharedMemory<'py>,
    ) -> PyResult<values::SharedMemory<'py>> {
        self.shared.add(memory.object())?;
        Ok(memory)
    }
}

fn options(
    mode: &str,
    create: Option<u64>,
    offset: u64,
    bytes: Option<u64>,
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
    Ok(options)
}

#[pymethods]
impl AddressSpace {
    /// Its number in the shell.
    #[getter]
    fn asid(&self, py: Python<'_>) -> PyResult<u8> {
        self.space.call(py, |space| Ok(space.asid().get()))
    }

    /// Maps a file, or a range of it, opened here with the rights of this process.
    ///
    /// :param path: a regular file of at least 1 byte. Or a stream: ``"pipe:PATH"``, ``"tcp:HOST:PORT"``,
    ///     ``"unix:PATH"`` and so on, with ``nbytes``: a reading kernel waits for data, and its output
    ///     is sent by :meth:`Mapping.sync` and :meth:`Mapping.unmap`.
    /// :param mode: ``"r"``: the kernel may read; ``"rw"``: read and write.
    /// :param create: creates or truncates the file, with this number of zero bytes; needs ``"rw"``.
    /// :param offset: first byte of the range.
    /// :param nbytes: size of the range in bytes; up to the end of the file if not given.
    /// :param page_size: page size in bytes, a power of two from 4096 to 2**30; the card's choice (2 MiB) if
    ///     not given. Small pages suit sparse accesses, large pages reduce the number of faults.
    /// :param address: address in the space, a multiple of the page size; the pager's choice if not given.
    /// :param direct: pages stay in host memory, where kernels read and write them; needs a host channel
    ///     (``host_channel`` of the shell).
    /// :param memory: ``"ddr"`` or ``"hbm"``: places the pages in that memory of a card with both (platform
    ///     ``"u280-both"``); in any if not given.
    /// :param file_state: ``"warm"``: the file is in the host's page cache, or ``"cold"``: on storage; this determines
    ///     the cost of reading it in virtual time. The card's setting (``cold``) if not given.
    /// :param holes: holes of a cold file cost no reading; otherwise they cost as data.
    /// :raises OSError: the file cannot be opened in this mode, or created.
    /// :raises UnmappableError: empty, not a regular file, a range outside of it or over another mapping.
    #[pyo3(signature = (
        path, mode="r", *, create=None, offset=0, nbytes=None, page_size=None, address=None, direct=false, memory=None,
        file_state=None, holes=false
    ))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    pub(crate) fn map_file(
        slf: &Bound<'_, Self>,
        path: PathBuf,
        mode: &str,
        create: Option<u64>,
        offset: u64,
        nbytes: Option<u64>,
        page_size: Option<u64>,
        address: Option<u64>,
        direct: bool,
        memory: Option<&str>,
        file_state: Option<&str>,
        holes: bool,
    ) -> PyResult<Mapping> {
        let mut options = options(mode, create, offset, nbytes, page_size)?;
        if let Some(address) = address {
            let address = VirtAddr::new(address).ok_or_else(|| {
                PyValueError::new_err(format!("address {address:#x} has more than 48 bits"))
            })?;
            options = options.address(address);
        }
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
        let (py, space) = (slf.py(), slf.get());
        let mapped = space
            .space
            .call(py, |space| space.map_file(&path, options))?;
        let what = path.display().to_string();
        space.mapped(&what, &mapped, mode);
        Ok(Mapping::new(slf.clone().unbind(), mapped, what))
    }

    /// Maps a copy of an array's bytes.
    ///
    /// :param array: a numpy array of any shape and dtype without Python objects, or anything else with the
    ///     buffer protocol (``bytes``, ``bytearray``, ``array.array``, ``memoryview``); C-contiguous, at
    ///     least 1 byte. The kernel sees its bytes in memory order.
    /// :param mode: ``"r"``: the kernel may read; ``"rw"``: read and write, and :meth:`Mapping.sync` and
    ///     :meth:`Mapping.unmap` copy the bytes back into the array.
    /// :param page_size: as in :meth:`map_file`.
    /// :raises TypeError: no buffer, or one of Python objects.
    /// :raises ValueError: not contiguous, empty, or read-only with ``"rw"``.
    #[pyo3(signature = (array, mode="r", *, page_size=None))]
    pub(crate) fn map_array<'py>(
        slf: &Bound<'py, Self>,
        array: Bound<'py, PyAny>,
        mode: &str,
        page_size: Option<u64>,
    ) -> PyResult<Bound<'py, ArrayMapping>> {
        let (py, space) = (slf.py(), slf.get());
        if !["r", "rw"].contains(&mode) {
            let rule = format!("mode '{mode}': use \"r\" or \"rw\"");
            return Err(PyValueError::new_err(rule));
        }
        let options = options(mode, None, 0, None, page_size)?;
        let writable = mode == "rw";
        let copy = of_module(py, "tombolo._arrays", "Copy")?.call1((&array, writable))?;
        let descriptor: i32 = copy.getattr("descriptor")?.extract()?;
        let what = format!("array of type {}", kind(&array));
        // The path opens the same file anew, with a position and a life of its own.
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(writable)
            .open(format!("/proc/self/fd/{descriptor}"))?;
        let map =
            |space: &library::AddressSpace| space.map_open_file(file, Path::new(&what), options);
        let mapped = space.space.call(py, map)?;
        space.mapped(&what, &mapped, mode);
        let mapping = Mapping::new(slf.clone().unbind(), mapped, what);
        let mapping = Bound::new(py, ArrayMapping::of(mapping, copy.unbind(), writable))?;
        space.arrays.add(&mapping)?;
        Ok(mapping)
    }

    /// Allocates zeroed memory that the program shares with the kernels of this space, at the same addresses.
    ///
    /// :param shape: number of bytes; or with ``dtype`` the shape of an array, an integer or several.
    /// :param dtype: dtype of its numpy array, :attr:`SharedMemory.array`.
    /// :param page_size: page size for moves between program and card in bytes, a power of two of at least
    ///     4096; 2 MiB if not given, or one page that holds all of it. Large pages move more data at once; a page
    ///     that both sides write ping-pongs.
    /// :param for_calls: it can be passed to system calls while kernels use it: ``file.readinto(memory.buffer)``
    ///     waits for its pages. It is guarded by userfaultfd, where small pages are best (4096 bytes if
    ///     ``page_size`` is not given). If the system does not permit this, there is a ``RuntimeWarning``,
    ///     and system calls fail with ``EFAULT`` as usual; :attr:`SharedMemory.in_calls` has the result.
    /// :param traps: trap mechanism for the program's accesses: ``"protect"`` (protected pages, SIGSEGV; the default),
    ///     ``"userfault"`` (as ``for_calls``), or ``"in-thread"``: userfaultfd with SIGBUS, served in the
    ///     faulting thread; it needs no privilege and has no limit on the number of pages. An unavailable mechanism
    ///     gives a ``RuntimeWarning``; :attr:`SharedMemory.traps` is the one in use.
    /// :param direct: it stays in host memory: kernels read and write it over PCIe, no page moves, and the program is
    ///     never trapped, not even in system calls. For data that is accessed rarely, or written by both sides alternately.
    ///     The card needs a host channel (``host_channel`` of its shell).
    /// :raises ValueError: an unknown word for ``traps``, ``for_calls`` with a mechanism other than ``"userfault"``, or
    ///     either with ``direct``.
    /// :raises MemoryError: out of memory.
    /// :raises UnshareableError: too many pages for the system to protect individually.
    /// :raises ImportError: with ``dtype``, numpy is not installed.
    #[pyo3(signature = (shape, dtype=None, *, page_size=None, for_calls=false, traps=None, direct=false))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn alloc<'py>(
        slf: &Bound<'py, Self>,
        shape: Shape<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        page_size: Option<u64>,
        for_calls: bool,
        traps: Option<&str>,
        direct: bool,
    ) -> PyResult<values::SharedMemory<'py>> {
        let (py, space) = (slf.py(), slf.get());
        let sized = of_module(py, "tombolo._arrays", "bytes_of")?;
        let (bytes, shapes): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            sized.call1((shape.0, &dtype))?.extract()?;
        let bytes = match bytes.extract::<u64>() {
            Ok(bytes) if bytes < 1 << 47 => bytes as usize,
            _ => {
                let text = format!("{bytes} bytes are more than any program can address");
                return Err(PyMemoryError::new_err(text));
            }
        };
        let way = traps.map(way_of).transpose()?;
        let way = match (way, for_calls) {
            (None | Some(TrapWay::Userfault), true) => Some(TrapWay::Userfault),
            (Some(way), true) => {
                let other = name_of(way);
                let rule = format!("system calls wait with traps='userfault' only, not '{other}'");
                return Err(PyValueError::new_err(rule));
            }
            (way, false) => way,
        };
        if direct && way.is_some() {
            let rule = "direct memory is never trapped: leave out for_calls and traps";
            return Err(PyValueError::new_err(rule));
        }
        let size = page_size.map(crate::card::page_size).transpose()?;
        let memory = space
            .space
            .call(py, |space| match (size, way.unwrap_or_default()) {
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
        space.names.shared(space.asid, "shared memory", &memory);
        if way.is_some() && memory.trap_way() != way {
            let category = py.get_type::<PyRuntimeWarning>();
            PyErr::warn(py, &category, NO_USERFAULTFD, 1)?;
        }
        let part = (0, memory.len() as u64);
        let memory = Memory::new(slf, memory, part, None)?;
        space.with_shared(values::SharedMemory::new(
            py,
            (memory, shapes, dtype, py.None()),
        )?)
    }

    /// Shares an array in place: kernels read and write its bytes, at the program's addresses,
    /// until :meth:`SharedMemory.free`. Until then it is held, and operations that would move its bytes are refused
    /// (``bytearray.append``, ``ndarray.resize``; not ``resize(refcheck=False)``, which has no check).
    ///
    /// :param array: a C-contiguous, writable numpy array, or another buffer. Its memory must be whole pages of
    ///     4096 bytes, as :func:`tombolo.empty` gives; or a block that ``malloc`` has mapped separately, from its
    ///     first byte, as numpy's larger arrays are (from 128 KiB, sometimes only from 32 MiB). Those
    ///     begin 16 bytes after a multiple of 4096, which kernels that need aligned addresses refuse.
    /// :param page_size: maximum page size in bytes; 2 MiB if not given.
    /// :raises TypeError: no buffer, or one of Python objects.
    /// :raises ValueError: not contiguous, empty, or read-only.
    /// :raises UnregistrableError: memory that cannot be shared page by page, with the rule that it breaks; use
    ///     :func:`tombolo.empty` or :meth:`alloc`.
    #[pyo3(signature = (array, *, page_size=None))]
    fn register<'py>(
        slf: &Bound<'py, Self>,
        array: Bound<'py, PyAny>,
        page_size: Option<u64>,
    ) -> PyResult<values::SharedMemory<'py>> {
        let (py, space) = (slf.py(), slf.get());
        let pages = of_module(py, "tombolo._arrays", "pages_of")?.call1((&array,))?;
        let (start, bytes, part, pinned, array): Pages<'_> = pages.extract()?;
        let size = page_size.map_or(Ok(PageSize::MIB_2), crate::card::page_size)?;
        let held = space.space.shared(py)?;
        let memory = py.detach(|| {
            // SAFETY: `_arrays.py` passes a writable buffer of an array, which `pinned` keeps mapped. The
            // program and the interpreter access it as plain bytes, for which all values are valid.
            unsafe { held.register_with_pages(start as *mut u8, bytes, size) }
        });
        let memory = memory.map_err(|error| match error.code() {
            ErrorCode::Unregistrable => {
                let remedy =
                    "An array of tombolo.empty(shape, dtype) can be registered, whatever its size";
                errors::named(py, ErrorCode::Unregistrable, format!("{error}. {remedy}"))
            }
            _ => errors::raise(py, &error),
        })?;
        space.names.shared(space.asid, "registered memory", &memory);
        let memory = Memory::new(slf, memory, part, Some(pinned))?;
        space.with_shared(values::SharedMemory::new(
            py,
            (memory, py.None(), py.None(), array),
        )?)
    }

    /// Connects stream ports to devices and memory, and moves data until every stream has ended. Other
    /// threads run meanwhile, and Ctrl-C ends it.
    ///
    /// For example ``space.flow({(slot, "in"): "pipe:/tmp/fifo", (slot, "out"): mapping})``.
    ///
    /// :param plugs: a device, a mapping, or shared memory for each slot and port name. Devices are ``"-"``
    ///     (the standard input or output), ``"pipe:PATH"``, ``"tcp:HOST:PORT"``, ``"tcp-listen:[HOST:]PORT"``,
    ///     ``"unix:PATH"``, ``"unix-listen:PATH"``, with ``":live"``, ``":timeout=5s"``, ``":buffer=1MiB"`` appended
    ///     (docs/devices.md). Memory is sent as one packet, or receives one. A socket may serve two ports, one per
    ///     direction.
    /// :param packets: number of consecutive packets to take, for each slot and output port: a
    ///     number, ``"all"`` until all inputs have ended and nothing moves any more, or ``"any"``: one, or as much of it
    ///     as there is room for. Other ports take one. Device names can set it too: ``":packets=all"``.
    /// :param deadline: seconds of virtual time from now on; time stops while the host waits for a device.
    /// :param progress: as for :meth:`Slot.wait`.
    /// :param listening: called with port, host and number of each ``tcp-listen`` before waiting for a peer.
    /// :returns: the transfer of each port.
    /// :raises DeviceError: not a device, or it cannot be opened.
    /// :raises DevicePeerError: its peer timed out, has closed, or failed.
    /// :raises StreamError: no such port, or it is in use; a kernel has sent more packets than its port takes.
    /// :raises ValueError: packets of a port that is not connected; an invalid number of packets.
    #[pyo3(signature = (plugs, *, packets=None, deadline=None, progress=None, listening=None))]
    fn flow(
        &self,
        py: Python<'_>,
        plugs: Plugs<'_>,
        packets: Option<PacketCounts<'_>>,
        deadline: Option<Deadline>,
        progress: Option<OnProgress>,
        listening: Option<OnListening>,
    ) -> PyResult<Vec<Flowed>> {
        let deadline = picoseconds(deadline);
        let plan = Plan::new(py, plugs, packets, deadline, progress, listening)?;
        let (ended, raised) = self.space.call(py, |space| plan.run(space))?;
        let flowed = match (ended, raised) {
            (Err(Error::Interrupted) | Ok(_), Some(raised)) => return Err(raised),
            (Err(error), _) => return Err(errors::raise(py, &error)),
            (Ok(flowed), None) => flowed,
        };
        let flowed = flowed.into_iter();
        Ok(flowed
            .map(|port| Flowed((port.port, port.bytes, port.packets)))
            .collect())
    }

    /// Stops the kernels of the space, writes back and ends every mapping, and ends the space.
    ///
    /// All of it is done even if something fails; the first failure is raised.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut first = Ok(());
        self.slots.end(py, "close", &mut first)?;
        self.arrays.end(py, "unmap", &mut first)?;
        self.shared.end(py, "free", &mut first)?;
        self.space.close(py, library::AddressSpace::close)?;
        first
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception: "object"))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let card = self.card.bind(py).repr()?;
        let state = self.space.state();
        Ok(format!("<AddressSpace {} of {card}{state}>", self.asid))
    }
}
