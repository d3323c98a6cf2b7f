//! Devices as ends of transfers: each gives packets to a kernel, takes what comes out, and tells at last what it got.

mod across;
mod carried;
mod mapped;
mod shelf;

use super::plan::Subject;
use super::Failure;
use shelf::Shelf;
use std::path::Path;
use tombolo::{AddressSpace, Card, Flow, MemoryKind, Slot};

/// A stream port of a loaded kernel.
#[derive(Clone, Copy)]
pub struct Port<'a> {
    /// Where the kernel is.
    pub slot: &'a Slot,
    /// The port.
    pub name: &'a str,
}

/// Some bytes of the subject's data.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// Where they are in it.
    pub offset: u64,
    /// What they are.
    pub bytes: &'a [u8],
}

/// A device. What it takes and gives in one transfer goes by a flow, which is run in between.
pub trait Place {
    /// What it is called.
    fn name(&self) -> &str;

    /// Connects a port into a kernel, and has these bytes ready for it.
    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: Given<'_>,
    ) -> Result<(), Failure>;

    /// The flow is over: lets go of the port.
    fn given(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Connects a port out of a kernel, with room for so many bytes.
    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, room: u64) -> Result<(), Failure>;

    /// The flow is over: so many bytes came. Lets go of the port.
    fn taken(&mut self, bytes: u64) -> Result<(), Failure>;

    /// The same device cannot be at both ends of a transfer.
    fn is_one_way(&self) -> bool {
        false
    }

    /// What it has got, a transfer each. It is an error if other bytes of it have changed.
    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure>;
}

/// Where places are made.
pub struct Site<'a> {
    /// The card.
    pub card: &'a Card,
    /// The space of the kernel.
    pub space: &'a AddressSpace,
    /// A folder for files.
    pub folder: &'a Path,
    /// What is sent.
    pub subject: &'a Subject,
    /// A loopback in another slot, in the same space.
    pub loopback: &'a Slot,
    /// The command, for processes that serve memory; none: those devices are left out.
    pub tombolo: Option<&'a Path>,
}

/// Every device that there is on the card. `by_host`: also those whose bytes the host carries, which to the card are
/// all alike: buffers in memory that the host fills and empties.
pub fn all<'a>(site: &Site<'a>, by_host: bool) -> Result<Vec<Box<dyn Place + 'a>>, Failure> {
    let description = site.card.describe()?.0;
    let kinds: Vec<Option<MemoryKind>> = match description.memories.as_slice() {
        [] | [_] => vec![None],
        several => several.iter().map(|memory| Some(memory.kind)).collect(),
    };
    let mut all: Vec<Box<dyn Place + 'a>> = Vec::new();
    for kind in kinds {
        let resident = mapped::Resident::new(site, kind)?;
        all.push(Box::new(mapped::Plugged::from(resident)));
    }
    let shared = |name| Ok::<_, Failure>(mapped::Plugged::from(mapped::Shared::new(site, name)?));
    all.push(Box::new(shared("host")?));
    all.push(Box::new(mapped::Plugged::from(mapped::MappedFiles::new(
        site,
    )?)));
    let behind = Box::new(shared("slot")?);
    all.push(Box::new(across::Neighbour::new(site, behind)));
    let mut served = Vec::new();
    if by_host {
        for kind in carried::Kind::ALL {
            all.push(Box::new(carried::Carried::new(site, kind)?));
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
