//! Stream ports of a slot, as `rw_flag` and `port_id` select them.

use super::device::remote;
use crate::status::Failure;
use std::ffi::c_int;
use tombolo::{RemoteMemory, Slot, Stream, StreamDirection};

const RD: c_int = 1;
const WR: c_int = 2;
const ASYNC: c_int = 4;

/// A checked `rw_flag`.
#[derive(Clone, Copy)]
pub(super) struct Flag(c_int);

impl Flag {
    pub(super) fn parse(flag: c_int) -> Result<Self, Failure> {
        match flag & !ASYNC {
            RD | WR => Ok(Self(flag)),
            both if both == RD | WR => Ok(Self(flag)),
            _ => Err(Failure::argument(format!(
                "rw_flag is {flag}: use VFPIO_RD, VFPIO_WR, VFPIO_RDWR or ASYNC_RD, ASYNC_WR, ASYNC_RDWR"
            ))),
        }
    }

    /// From the device into the user logic.
    pub(super) fn reads(self) -> bool {
        self.0 & RD != 0
    }

    /// Out of the user logic to the device.
    pub(super) fn writes(self) -> bool {
        self.0 & WR != 0
    }

    fn selects(self, direction: StreamDirection) -> bool {
        match direction {
            StreamDirection::In => self.reads(),
            StreamDirection::Out => self.writes(),
        }
    }
}

/// Open ports of one slot.
#[derive(Default)]
pub(super) struct Ports {
    /// Whether a transfer is complete when its call returns.
    waits: bool,
    inputs: Vec<Stream>,
    outputs: Vec<Stream>,
}

impl Ports {
    /// Opens the ports that a flag selects; all of them for port -1.
    pub(super) fn open(slot: &Slot, flag: Flag, port: c_int) -> Result<Self, Failure> {
        let manifest = slot.manifest();
        let named = match port {
            -1 => None,
            _ => Some(port_name(slot, port)?),
        };
        let mut opened = Self {
            waits: flag.0 & ASYNC == 0,
            ..Self::default()
        };
        for stream in &manifest.streams {
            let selected = flag.selects(stream.direction);
            let wanted = match &named {
                Some(name) => *name == stream.name,
                None => selected,
            };
            if !wanted {
                continue;
            }
            if !selected {
                return Err(Failure::argument(format!(
                    "kernel {}, port {}: its data go {}; rw_flag says the other way",
                    manifest.name,
                    stream.name,
                    stream.direction.as_str()
                )));
            }
            let ports = match stream.direction {
                StreamDirection::In => &mut opened.inputs,
                StreamDirection::Out => &mut opened.outputs,
            };
            ports.push(slot.open_stream(&stream.name)?);
        }
        if opened.inputs.is_empty() && opened.outputs.is_empty() {
            return Err(Failure::argument(format!(
                "kernel {} has no stream port that rw_flag {} concerns",
                manifest.name, flag.0
            )));
        }
        Ok(opened)
    }

    /// Connects each port to a peer over the card's network interface.
    pub(super) fn plug(&self, address: &str) -> Result<(), Failure> {
        for (stream, _) in self.all() {
            let peer = RemoteMemory::connect(address, RemoteMemory::TIMEOUT).map_err(remote)?;
            stream.plug_peer(peer)?;
        }
        Ok(())
    }

    /// Whether a transfer is complete when its call returns.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Each port, with whether its data leave the user logic.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Stream, bool)> {
        let inputs = self.inputs.iter().map(|stream| (stream, false));
        inputs.chain(self.outputs.iter().map(|stream| (stream, true)))
    }

    /// The only port in a direction.
    pub(super) fn one(&self, writes: bool) -> Result<&Stream, Failure> {
        let (streams, way) = match writes {
            true => (&self.outputs, "out of"),
            false => (&self.inputs, "into"),
        };
        match &streams[..] {
            [stream] => Ok(stream),
            _ => {
                let count = streams.len();
                Err(Failure::argument(format!(
                    "this dev_fd has {count} ports {way} the user logic, and a transfer needs one: open them one by \
                     one, by port_id, with a rw_flag that fits"
                )))
            }
        }
    }
}

/// The name of a stream port by its index in kernel.toml.
pub(super) fn port_name(slot: &Slot, port: c_int) -> Result<String, Failure> {
    let streams = &slot.manifest().streams;
    let found = usize::try_from(port)
        .ok()
        .and_then(|port| streams.get(port));
    found.map(|port| port.name.clone()).ok_or_else(|| {
        let kernel = &slot.manifest().name;
        let count = streams.len();
        let rule = format!("kernel {kernel} has no stream port {port}; it has {count}, from 0 on");
        Failure::argument(rule)
    })
}
