//! Ports plugged into devices and memory, and bytes that flow until all has ended.

use crate::errors;
use crate::slot::Slot;
use crate::stream::Place;
use crate::values::{kind, OnListening, OnProgress, PacketCounts, Plugs};
use crate::wait::Watch;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::Arc;
use tombolo as library;
use tombolo::{AddressSpace, Device, Error, Flow, Flowed, MappedRange, Packets, Picoseconds};

enum End {
    Device(Device),
    Memory(MappedRange, Packets),
}

/// The same without Python.
pub struct Plan {
    ports: Vec<(Arc<library::Slot>, String, End)>,
    deadline: Option<Picoseconds>,
    watch: Watch,
    listening: Option<OnListening>,
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
        plugs: Plugs<'_>,
        packets: Option<PacketCounts<'_>>,
        deadline: Option<Picoseconds>,
        progress: Option<OnProgress>,
        listening: Option<OnListening>,
    ) -> PyResult<Self> {
        let dictionary = py.get_type::<PyDict>();
        let plugs = dictionary.call1((plugs.0,))?;
        let packets = match packets {
            Some(packets) => dictionary.call1((packets.0,))?,
            None => dictionary.call0()?,
        };
        let (plugs, packets) = (plugs.cast::<PyDict>()?, packets.cast::<PyDict>()?);
        for key in packets.keys() {
            if !plugs.contains(&key)? {
                let (_, port): (Bound<'_, PyAny>, String) = key.extract()?;
                return Err(PyValueError::new_err(format!(
                    "packets are given for port {port}, and nothing is plugged in there"
                )));
            }
        }
        let mut ports = Vec::new();
        for (key, plug) in plugs {
            let count = packets.get_item(&key)?;
            let count = count.map(|count| Ok::<_, PyErr>(count.str()?.to_string()));
            let count = count.transpose()?;
            let (slot, port): (Bound<'_, Slot>, String) = key.extract()?;
            let end = if let Ok(name) = plug.cast::<PyString>() {
                let name = match count {
                    Some(count) => format!("{name}:packets={count}"),
                    None => name.to_string(),
                };
                let device = Device::parse(name.as_ref());
                End::Device(device.map_err(|error| errors::raise(py, &error.into()))?)
            } else if let Ok(place) = plug.extract::<Place<'_>>() {
                let packets = match count {
                    Some(text) => text.parse().map_err(|error: tombolo::UnknownPackets| {
                        PyValueError::new_err(error.to_string())
                    })?,
                    None => Packets::One,
                };
                End::Memory(place.all(py)?, packets)
            } else {
                return Err(PyTypeError::new_err(format!(
                    "port {port} is plugged into {}; a device's name or memory can be",
                    kind(&plug)
                )));
            };
            ports.push((slot.get().shared(py)?, port, end));
        }
        Ok(Self {
            ports,
            deadline,
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
                    if let Err(raised) = Python::attach(|py| call.0.call1(py, place).map(drop)) {
                        return Ok((Err(Error::Interrupted), Some(raised)));
                    }
                }
            }
        }
        let ended = flow.run(self.deadline, |progress| watch.look(progress));
        Ok((ended, watch.raised()))
    }
}
