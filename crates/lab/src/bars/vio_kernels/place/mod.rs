//! Devices as ends of transfers: each sends packets to a kernel, receives its output, and finally returns what it
//! received.

mod across;
mod carried;
mod mapped;
mod packet_store;

use super::plan::Subject;
use super::Failure;
use packet_store::PacketStore;
use std::path::Path;
use tombolo::{AddressSpace, Card, Flow, MemoryKind, Slot};

/// A stream port of a loaded kernel.
#[derive(Clone, Copy)]
pub struct Port<'a> {
    /// Slot of the kernel.
    pub slot: &'a Slot,
    /// Name of the port.
    pub name: &'a str,
}

/// Part of the subject's data.
#[derive(Clone, Copy)]
pub struct DataPart<'a> {
    /// Offset in the data, in bytes.
    pub offset: u64,
    /// Contents of that part.
    pub bytes: &'a [u8],
}

/// A device. A flow connects it for one transfer, and runs between the calls that connect and release it.
pub trait StreamDevice {
    /// Name of the device.
    fn name(&self) -> &str;

    /// Connects an input port of a kernel, and provides these bytes.
    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: DataPart<'_>,
    ) -> Result<(), Failure>;

    /// The flow is complete: releases the input port.
    fn given(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Connects an output port of a kernel, with room for `room` bytes.
    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure>;

    /// The flow is complete: `bytes` bytes arrived. Releases the output port.
    fn taken(&mut self, bytes: u64) -> Result<(), Failure>;

    /// Whether the device cannot be at both ends of a transfer.
    fn is_one_way(&self) -> bool {
        false
    }

    /// The received bytes of each transfer. Fails if any other bytes of the device have changed.
    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure>;
}

/// Resources for devices.
pub struct TestBench<'a> {
    /// Card under test.
    pub card: &'a Card,
    /// Address space of the kernel.
    pub space: &'a AddressSpace,
    /// A folder for files.
    pub folder: &'a Path,
    /// Kernel and data to send.
    pub subject: &'a Subject,
    /// A loopback in another slot, in the same space.
    pub loopback: &'a Slot,
    /// The command, for processes that serve memory; `None` leaves those devices out.
    pub tombolo: Option<&'a Path>,
}

/// Every device available on the card. `by_host` includes those whose data is transferred by the host, which the card
/// cannot distinguish: buffers in memory that the host fills and empties.
pub fn all<'a>(
    site: &TestBench<'a>,
    by_host: bool,
) -> Result<Vec<Box<dyn StreamDevice + 'a>>, Failure> {
    let description = site.card.describe()?.0;
    let kinds: Vec<Option<MemoryKind>> = match description.memories.as_slice() {
        [] | [_] => vec![None],
        several => several.iter().map(|memory| Some(memory.kind)).collect(),
    };
    let mut all: Vec<Box<dyn StreamDevice + 'a>> = Vec::new();
    for kind in kinds {
        let resident = mapped::Resident::new(site, kind)?;
        all.push(Box::new(mapped::MemoryDevice::from(resident)));
    }
    let shared =
        |name| Ok::<_, Failure>(mapped::MemoryDevice::from(mapped::Shared::new(site, name)?));
    all.push(Box::new(shared("host")?));
    all.push(Box::new(mapped::MemoryDevice::from(
        mapped::MappedFiles::new(site)?,
    )));
    let behind = Box::new(shared("slot")?);
    all.push(Box::new(across::Neighbour::new(site, behind)));
    let mut served = Vec::new();
    if by_host {
        for kind in carried::Kind::ALL {
            all.push(Box::new(carried::ByteStreamDevice::new(site, kind)?));
        }
        served.extend(["remote:", "remote:fabric+tcp://", "remote:fabric+shm://"]);
    }
    if description.network_pairs > 0 {
        all.push(Box::new(across::Addressed::node(site)?));
        served.push("net:");
    }
    for (kind, tombolo) in served
        .into_iter()
        .filter_map(|kind| Some((kind, site.tombolo?)))
    {
        all.push(Box::new(across::Addressed::served(site, tombolo, kind)?));
    }
    Ok(all)
}
