//! `NativeSlot`

use crate::handle::Handle;
use crate::report::SharedNames;
use crate::stream::NativeStream;
use crate::wait::Watch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use tombolo::{Error, Picoseconds, Priority, Slot, SlotSchedule};

/// A slot with a kernel in it.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeSlot {
    slot: Handle<Slot>,
    names: SharedNames,
}

impl NativeSlot {
    pub(crate) fn new(slot: Slot, names: SharedNames) -> Self {
        Self {
            slot: Handle::new("slot", slot),
            names,
        }
    }

    /// A shared reference to the slot, which stays open as long as the reference.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn shared(&self, py: Python<'_>) -> PyResult<Arc<Slot>> {
        self.slot.shared(py)
    }
}

#[pymethods]
impl NativeSlot {
    /// The slot's number.
    #[getter]
    fn number(&self, py: Python<'_>) -> PyResult<u8> {
        self.slot.call(py, |slot| Ok(slot.id().0))
    }

    /// The kernel's name and its arguments as (name, bytes, access or None for scalars, description).
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<(String, Vec<Bound<'py, PyDict>>)> {
        let manifest = self.slot.call(py, |slot| Ok(slot.manifest().clone()))?;
        let mut arguments = Vec::new();
        for argument in &manifest.arguments {
            let entry = PyDict::new(py);
            entry.set_item("name", &argument.name)?;
            entry.set_item("offset", argument.offset)?;
            entry.set_item("bytes", argument.bytes)?;
            let access = argument.port.map(|_| argument.access.as_str());
            entry.set_item("access", access)?;
            entry.set_item("description", &argument.description)?;
            arguments.push(entry);
        }
        Ok((manifest.name, arguments))
    }

    fn set(&self, py: Python<'_>, argument: &str, value: u64) -> PyResult<()> {
        let (slot, pointer) = self.slot.call(py, |slot| {
            slot.set(argument, value)?;
            let found = slot.manifest().argument(argument);
            let pointer = found.is_some_and(|argument| argument.port.is_some());
            Ok((slot.id().0, pointer))
        })?;
        if pointer {
            self.names.called(slot, argument, value);
        }
        Ok(())
    }

    fn set_bytes(&self, py: Python<'_>, argument: &str, value: &[u8]) -> PyResult<()> {
        self.slot.call(py, |slot| slot.set_bytes(argument, value))
    }

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

    fn open_stream(&self, py: Python<'_>, port: &str) -> PyResult<NativeStream> {
        let stream = self.slot.call(py, |slot| slot.open_stream(port))?;
        Ok(NativeStream::new(stream))
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.call(py, |slot| slot.start())
    }

    fn wait(
        &self,
        py: Python<'_>,
        deadline_ps: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let deadline = deadline_ps.map(Picoseconds::new);
        let (waited, raised) = self.slot.call(py, |slot| {
            let mut watch = Watch::new(progress);
            let waited = slot.wait(deadline, |progress| watch.look(progress));
            Ok((waited, watch.raised()))
        })?;
        match (waited, raised) {
            (Err(Error::Interrupted), Some(raised)) => Err(raised),
            (Err(error), _) => Err(crate::errors::raise(py, &error)),
            (Ok(()), Some(raised)) => Err(raised),
            (Ok(()), None) => Ok(()),
        }
    }

    fn wait_register(
        &self,
        py: Python<'_>,
        offset: u32,
        mask: u32,
        value: u32,
        deadline_ps: Option<u64>,
    ) -> PyResult<u32> {
        aligned(offset)?;
        let deadline = deadline_ps.map(Picoseconds::new);
        self.slot
            .call(py, |slot| slot.wait_register(offset, mask, value, deadline))
    }

    fn wait_interrupt(&self, py: Python<'_>, deadline_ps: Option<u64>) -> PyResult<u32> {
        let deadline = deadline_ps.map(Picoseconds::new);
        self.slot.call(py, |slot| slot.wait_interrupt(deadline))
    }

    fn read_register(&self, py: Python<'_>, offset: u32) -> PyResult<u32> {
        aligned(offset)?;
        self.slot.call(py, |slot| slot.read_register(offset))
    }

    fn write_register(&self, py: Python<'_>, offset: u32, value: u32) -> PyResult<()> {
        aligned(offset)?;
        self.slot
            .call(py, |slot| slot.write_register(offset, value))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.close(py, Slot::close)
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
