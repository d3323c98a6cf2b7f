//! Ports plugged into devices and memory, and bytes that flow until all has ended.

use crate::errors;
use crate::memory::NativeMemory;
use crate::slot::NativeSlot;
use crate::space::NativeMapping;
use crate::wait::Watch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::sync::Arc;
use tombolo::{AddressSpace, Device, Error, Flow, Flowed, MappedRange, Packets, Picoseconds, Slot};

/// Connection of a port: the name of a device, or memory with offset and size in bytes.
#[derive(FromPyObject)]
pub enum Plug<'py> {
    Device(OsString),
    Mapping(Bound<'py, NativeMapping>, u64, u64),
    Memory(Bound<'py, NativeMemory>, u64, u64),
}

/// A slot, a port of its kernel, what that is plugged into, and how many packets memory takes.
pub type Plugged<'py> = (Bound<'py, NativeSlot>, String, Plug<'py>, Option<String>);

enum End {
    Device(Device),
    Memory(MappedRange, Packets),
}

/// The same without Python.
pub struct Plan {
    ports: Vec<(Arc<Slot>, String, End)>,
    deadline: Option<Picoseconds>,
    watch: Watch,
    /// Called with port, host and number where something listens for TCP.
    listening: Option<Py<PyAny>>,
}

/// How it went, and what the user's callbacks raised.
pub type Ended = (Result<Vec<Flowed>, Error>, Option<PyErr>);

impl Plan {
    /// Looks at everything, and begins nothing.
    ///
    /// # Errors
    /// Something is closed; no such device; a range outside of its memory.
    pub fn new(
        py: Python<'_>,
        plugs: Vec<Plugged<'_>>,
        deadline_ps: Option<u64>,
        progress: Option<Py<PyAny>>,
        listening: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let mut ports = Vec::new();
        for (slot, port, plug, packets) in plugs {
            let packets = match packets {
                Some(text) => text.parse().map_err(|error: tombolo::UnknownPackets| {
                    PyValueError::new_err(error.to_string())
                })?,
                None => Packets::One,
            };
            let end = match plug {
                Plug::Device(name) => {
                    let device = Device::parse(&name);
                    End::Device(device.map_err(|error| errors::raise(py, &error.into()))?)
                }
                Plug::Mapping(mapping, offset, bytes) => {
                    End::Memory(mapping.get().part(py, offset, bytes)?, packets)
                }
                Plug::Memory(memory, offset, bytes) => {
                    End::Memory(memory.get().part(py, offset, bytes)?, packets)
                }
            };
            ports.push((slot.get().shared(py)?, port, end));
        }
        Ok(Self {
            ports,
            deadline: deadline_ps.map(Picoseconds::new),
            watch: Watch::new(progress),
            listening,
        })
    }

    /// Keeps bytes moving until all has ended. Without the interpreter's lock.
    ///
    /// # Errors
    /// A port that there is not, or that is taken; a device that does not suit.
    pub fn run(self, space: &AddressSpace) -> Result<Ended, Error> {
        let mut watch = self.watch;
        let mut flow = Flow::new(space);
        for (slot, port, end) in self.ports {
            match end {
                End::Memory(range, packets) => flow.plug_packets(&slot, &port, range, packets)?,
                End::Device(device) => {
                    let address = flow.plug(&slot, &port, device)?;
                    let (Some(address), Some(call)) = (address, &self.listening) else {
                        continue;
                    };
                    let place = (port, address.ip().to_string(), address.port());
                    if let Err(raised) = Python::attach(|py| call.call1(py, place).map(drop)) {
                        return Ok((Err(Error::Interrupted), Some(raised)));
                    }
                }
            }
        }
        let ended = flow.run(self.deadline, |progress| watch.look(progress));
        Ok((ended, watch.raised()))
    }
}
