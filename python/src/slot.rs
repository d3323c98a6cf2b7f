//! Slots: arguments, start, wait.

use crate::card::Card;
use crate::errors;
use crate::handle::Handle;
use crate::mapping::{ArrayMapping, Mapping};
use crate::memory::Memory;
use crate::report::SharedNames;
use crate::space::AddressSpace;
use crate::stream::Stream;
use crate::values::{of_module, picoseconds, Argument, Deadline, Dictionary, OnProgress};
use crate::wait::Watch;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo as library;
use tombolo::{Error, Priority, SlotSchedule};

/// An argument of the kernel.
struct Parameter {
    name: String,
    bytes: u64,
    /// Of a pointer.
    access: Option<&'static str>,
    offset: u64,
    description: String,
}

/// A slot with its kernel; created by :meth:`Card.load`.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct Slot {
    /// Stays open as long as one of its slots.
    _card: Py<Card>,
    space: Py<AddressSpace>,
    slot: Handle<library::Slot>,
    number: u8,
    kernel: String,
    parameters: Vec<Parameter>,
    /// Memory stays mapped for as long as the kernel has its address.
    held: Mutex<HashMap<String, Py<PyAny>>>,
    names: SharedNames,
}

/// Mapped for the time of a run.
enum Opened<'py> {
    File(Bound<'py, Mapping>),
    Array(Bound<'py, ArrayMapping>),
}

impl Opened<'_> {
    fn end(&self, failed: bool) -> PyResult<()> {
        match self {
            Self::File(mapping) => mapping.get().unmap(mapping.py()),
            // Results of a run that failed are not to be trusted.
            Self::Array(mapping) => ArrayMapping::end(mapping, !failed),
        }
    }
}

/// The space and the address of memory that a kernel can reach.
fn reachable<'a>(value: &'a Bound<'_, PyAny>) -> Option<(&'a Py<AddressSpace>, u64)> {
    if let Ok(mapping) = value.cast::<Mapping>() {
        return Some((mapping.get().space(), mapping.get().address()));
    }
    let memory = value.cast::<Memory>().ok()?;
    Some((memory.get().space(), memory.get().address()))
}

impl Slot {
    pub(crate) fn new(
        card: Py<Card>,
        space: Py<AddressSpace>,
        slot: library::Slot,
        names: SharedNames,
    ) -> Self {
        let arguments = slot.manifest().arguments.iter();
        let parameters = arguments.map(|argument| Parameter {
            name: argument.name.clone(),
            bytes: argument.bytes as u64,
            access: argument.port.map(|_| argument.access.as_str()),
            offset: argument.offset as u64,
            description: argument.description.clone(),
        });
        Self {
            _card: card,
            space,
            number: slot.id().0,
            kernel: slot.manifest().name.clone(),
            parameters: parameters.collect(),
            held: Mutex::default(),
            names,
            slot: Handle::new("slot", slot),
        }
    }

    /// A shared reference to the slot, which stays open as long as the reference.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn shared(&self, py: Python<'_>) -> PyResult<Arc<library::Slot>> {
        self.slot.shared(py)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Py<PyAny>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The values of a run by name: every argument, and no other.
    fn given<'py>(
        &self,
        py: Python<'py>,
        arguments: Option<Dictionary<'py>>,
        more: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let given = PyDict::new(py);
        if let Some(arguments) = arguments {
            given.call_method1("update", (arguments.0,))?;
        }
        for (name, value) in more.into_iter().flatten() {
            if given.contains(&name)? {
                return Err(PyTypeError::new_err(format!(
                    "argument {name} is given twice"
                )));
            }
            given.set_item(name, value)?;
        }
        let known: Vec<&str> = self.parameters.iter().map(|one| &*one.name).collect();
        let mut missing = Vec::new();
        for name in &known {
            if !given.contains(name)? {
                missing.push((*name).to_owned());
            }
        }
        let given_names = given.keys().iter().map(|name| name.to_string());
        let unknown: Vec<String> = given_names
            .filter(|name| !known.contains(&&**name))
            .collect();
        let problems = [("lacks", missing), ("does not have", unknown)];
        let problems: Vec<String> = problems
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        match problems.is_empty() {
            true => Ok(given),
            false => Err(PyTypeError::new_err(format!(
                "kernel {} {}; its arguments are {}",
                self.kernel,
                problems.join(" and "),
                known.join(", ")
            ))),
        }
    }

    /// The target of a pointer, mapped if necessary; mappings are added to `opened`.
    fn mapped<'py>(
        &self,
        parameter: &Parameter,
        value: Bound<'py, PyAny>,
        opened: &mut Vec<Opened<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        if reachable(&value).is_some() {
            return Ok(value);
        }
        let mode = match parameter.access {
            Some("read") => "r",
            _ => "rw",
        };
        let space = self.space.bind(py);
        if value.is_instance_of::<PyString>() || value.hasattr("__fspath__")? {
            let path: PathBuf = value.extract()?;
            let mapping = AddressSpace::map_file(
                space, path, mode, None, 0, None, None, None, false, None, None, false,
            )?;
            let mapping = Bound::new(py, mapping)?;
            opened.push(Opened::File(mapping.clone()));
            return Ok(mapping.into_any());
        }
        let address = of_module(py, "tombolo._arrays", "address")?.call1((&value,))?;
        if !address.is_none() {
            return Ok(address);
        }
        let mapping = AddressSpace::map_array(space, value, mode, None).map_err(|error| {
            let text = format!("argument {}: {}", parameter.name, error.value(py));
            match error.get_type(py) {
                kind if kind.is(py.get_type::<PyTypeError>()) => PyTypeError::new_err(text),
                kind if kind.is(py.get_type::<PyValueError>()) => PyValueError::new_err(text),
                _ => error,
            }
        })?;
        opened.push(Opened::Array(mapping.clone()));
        Ok(mapping.into_any())
    }
}

#[pymethods]
impl Slot {
    /// Number of the slot on the card.
    #[getter]
    fn number(&self) -> u8 {
        self.number
    }

    /// Name of the kernel.
    #[getter]
    fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The address space that the kernel was loaded with.
    #[getter]
    fn space(&self, py: Python<'_>) -> Py<AddressSpace> {
        self.space.clone_ref(py)
    }

    /// The kernel's arguments, in the manifest's order.
    #[getter]
    fn arguments(&self) -> Vec<Argument> {
        let parameters = self.parameters.iter();
        let arguments = parameters.map(|one| {
            let (name, description) = (one.name.clone(), one.description.clone());
            Argument((name, one.bytes, one.access, one.offset, description))
        });
        arguments.collect()
    }

    /// Sets an argument.
    ///
    /// :param value: an integer that fits; a :class:`Mapping` or :class:`SharedMemory`, for its address; or a
    ///     buffer of exactly the argument's bytes, in memory order (``bytes``, a numpy array).
    /// :raises NoSuchArgumentError: the message lists the valid names.
    /// :raises ArgumentSizeError: it does not fit.
    /// :raises ArgumentValueError: a value that the kernel does not allow (``least``, ``most`` and ``multiple_of`` in
    ///     its ``kernel.toml``).
    /// :raises ValueError: memory of another space than the kernel's.
    fn set(&self, py: Python<'_>, argument: &str, value: Bound<'_, PyAny>) -> PyResult<()> {
        let number = if let Some((space, address)) = reachable(&value) {
            if !space.is(&self.space) {
                // Spaces use the same addresses: the kernel would read other bytes, and nothing would say so.
                return Err(PyValueError::new_err(format!(
                    "argument {argument}: {} is of another address space than the kernel, which cannot reach it; map \
                     or allocate it in the space that the kernel was loaded with",
                    value.repr()?
                )));
            }
            address
        } else {
            let before = self.held().remove(argument);
            drop(before);
            let plain = of_module(py, "tombolo._arrays", "scalar")?.call1((argument, &value))?;
            if let Ok(bytes) = plain.extract::<&[u8]>() {
                return self.slot.call(py, |slot| slot.set_bytes(argument, bytes));
            }
            plain.extract()?
        };
        let (slot, pointer) = self.slot.call(py, |slot| {
            slot.set(argument, number)?;
            let found = slot.manifest().argument(argument);
            let pointer = found.is_some_and(|argument| argument.port.is_some());
            Ok((slot.id().0, pointer))
        })?;
        if pointer {
            self.names.called(slot, argument, number);
        }
        if reachable(&value).is_some() {
            let before = self.held().insert(argument.to_owned(), value.unbind());
            drop(before);
        }
        Ok(())
    }

    /// Sets the slot's share of card memory under contention, from now on and as long as
    /// this kernel is loaded; also while it runs. Parameters that are not given return to their defaults.
    ///
    /// :param priority: ``"low"``, ``"normal"``, ``"high"`` or ``"urgent"``.
    /// :param weight: share among slots of the same priority, 1 to 15.
    /// :param floor: minimum share of the total in per cent, regardless of priorities, 0 to 90.
    /// :param limit: maximum bytes per second for reads, and for writes; no limit if not given.
    /// :raises ValueError: no such priority.
    /// :raises OverflowError: a number that is negative or does not fit.
    /// :raises ScheduleError: another number out of range; the message names it.
    #[pyo3(signature = (*, priority="normal", weight=1, floor=0, limit=None))]
    fn set_schedule(
        &self,
        py: Python<'_>,
        priority: &str,
        weight: u8,
        floor: u8,
        limit: Option<u64>,
    ) -> PyResult<()> {
        let Some(priority) = Priority::named(priority) else {
            let known = Priority::ALL.map(Priority::as_str).join(", ");
            let rule = format!("priority {priority:?}: use one of {known}");
            return Err(PyValueError::new_err(rule));
        };
        let schedule = SlotSchedule {
            priority,
            weight,
            floor,
            limit,
        };
        self.slot.call(py, |slot| slot.set_schedule(schedule))
    }

    /// Opens a stream port of the kernel, for transfers from or to memory.
    ///
    /// :param port: its name in the kernel's manifest.
    /// :raises StreamError: the kernel has no such port (the message lists them), or it is in use.
    fn open_stream(slf: &Bound<'_, Self>, port: String) -> PyResult<Stream> {
        let slot = &slf.get().slot;
        let stream = slot.call(slf.py(), |slot| slot.open_stream(&port))?;
        Ok(Stream::new(slf.clone().unbind(), stream, port))
    }

    /// Starts the kernel with the arguments set so far.
    ///
    /// :raises SlotStateError: it is running, or cannot be started.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.call(py, |slot| slot.start())
    }

    /// Waits until the kernel is done. Other threads run meanwhile, and Ctrl-C ends the wait: within some
    /// tenths of a second on a simulated card (100 us of virtual time), at once on a functional one.
    ///
    /// :param deadline: timeout in seconds of virtual time.
    /// :param progress: called some fifty times a second; an exception in it stops the kernel and is raised here.
    /// :raises AccessError: an access failed, even if the kernel signals done.
    /// :raises ViolationError: the kernel broke a rule of the slot boundary.
    /// :raises DeadlineError: not done in time.
    /// :raises SlotStateError: it was not started.
    ///
    /// After an error the slot is in reset, and can be started again.
    #[pyo3(signature = (deadline=None, progress=None))]
    fn wait(
        &self,
        py: Python<'_>,
        deadline: Option<Deadline>,
        progress: Option<OnProgress>,
    ) -> PyResult<()> {
        let deadline = picoseconds(deadline);
        let (waited, raised) = self.slot.call(py, |slot| {
            let mut watch = Watch::new(progress);
            let waited = slot.wait(deadline, |progress| watch.look(progress));
            Ok((waited, watch.raised()))
        })?;
        match (waited, raised) {
            (Err(Error::Interrupted), Some(raised)) => Err(raised),
            (Err(error), _) => Err(errors::raise(py, &error)),
            (Ok(()), Some(raised)) => Err(raised),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Sets every argument, starts the kernel, waits, and copies its output back.
    ///
    /// Arguments are given by keyword, or in a dictionary if a name is also a parameter of this call. For
    /// a pointer: an array or buffer (copied in, and copied back if the kernel writes it), a path of a file
    /// (a string or ``pathlib.Path``, mapped for the time of the call), a :class:`Mapping` or
    /// :class:`SharedMemory`, or an address. For a value: an integer, or a buffer of exactly its bytes.
    ///
    /// When the run fails, arrays are unchanged; files keep the data written so far.
    ///
    /// :raises TypeError: an argument is missing, unknown, or of a wrong type.
    /// :raises Error: as :meth:`wait`.
    #[pyo3(signature = (arguments=None, /, *, deadline=None, progress=None, **more: "Any"))]
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Option<Dictionary<'py>>,
        deadline: Option<Deadline>,
        progress: Option<OnProgress>,
        more: Option<Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let given = self.given(py, arguments, more)?;
        let mut opened = Vec::new();
        let mut ended = (|| {
            for (name, mut value) in given {
                let name: String = name.extract()?;
                let parameter = self.parameters.iter().find(|one| one.name == name);
                if let Some(parameter) = parameter.filter(|one| one.access.is_some()) {
                    value = self.mapped(parameter, value, &mut opened)?;
                }
                self.set(py, &name, value)?;
            }
            self.start(py)?;
            self.wait(py, deadline, progress)
        })();
        while let Some(mapping) = opened.pop() {
            if let Err(error) = mapping.end(ended.is_err()) {
                ended = Err(error);
            }
        }
        ended
    }

    /// Waits until the bits of ``mask`` in a register equal those of ``value``; returns the final value of the register.
    ///
    /// For kernels with their own registers (``user_managed``). Faults are served meanwhile.
    ///
    /// :param deadline: timeout in seconds of virtual time.
    /// :raises DeadlineError: not in time; the kernel continues.
    /// :raises AccessError: an access failed. :raises ViolationError: the kernel broke a rule. The slot is then in
    ///     reset until :meth:`start`.
    #[pyo3(signature = (offset, mask, value, *, deadline=None))]
    fn wait_register(
        &self,
        py: Python<'_>,
        offset: u32,
        mask: u32,
        value: u32,
        deadline: Option<Deadline>,
    ) -> PyResult<u32> {
        aligned(offset)?;
        let deadline = picoseconds(deadline);
        self.slot
            .call(py, |slot| slot.wait_register(offset, mask, value, deadline))
    }

    /// Waits for the interrupt of a kernel with its own registers; returns the number since the last wait.
    ///
    /// :param deadline: as for :meth:`wait_register`; the errors too.
    #[pyo3(signature = (*, deadline=None))]
    fn wait_interrupt(&self, py: Python<'_>, deadline: Option<Deadline>) -> PyResult<u32> {
        let deadline = picoseconds(deadline);
        self.slot.call(py, |slot| slot.wait_interrupt(deadline))
    }

    /// Reads a 32-bit register of the kernel; ``offset`` in bytes, a multiple of 4.
    ///
    /// A program may poll: each read takes the virtual time of its round trip over the link, in which the kernel
    /// continues, and following reads serve the kernel's faults. :meth:`wait_register` is cheaper.
    fn read_register(&self, py: Python<'_>, offset: u32) -> PyResult<u32> {
        aligned(offset)?;
        self.slot.call(py, |slot| slot.read_register(offset))
    }

    /// Writes a 32-bit register of the kernel; ``offset`` in bytes, a multiple of 4.
    fn write_register(&self, py: Python<'_>, offset: u32, value: u32) -> PyResult<()> {
        aligned(offset)?;
        self.slot
            .call(py, |slot| slot.write_register(offset, value))
    }

    /// Stops the kernel if it runs, and empties the slot. Its data stays in the mappings.
    ///
    /// :raises Error: an unreported error of a run without a wait; the slot is empty in any case.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, slot) = (slf.py(), slf.get());
        slot.space.get().slot_ends(slf)?;
        let held = std::mem::take(&mut *slot.held());
        drop(held);
        slot.slot.close(py, library::Slot::close)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception: "object"))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Self::close(slf)
    }

    fn __repr__(&self) -> String {
        format!("<Slot {} with kernel {}>", self.number, self.kernel)
    }
}

fn aligned(offset: u32) -> PyResult<()> {
    match offset % 4 {
        0 => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "register offset {offset:#x}: registers are 4 bytes, so offsets are multiples of 4"
        ))),
    }
}
