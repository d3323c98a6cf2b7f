//! What stands around the shell: memories, the host behind its link, the registers' bus, a CPU.
//!
//! The event loop knows no more of them than this: at an edge they look at the shell's outputs, after it
//! they drive its inputs, and in between they can say when they next will by themselves.

use super::address_map::AddressMap;
use super::bar_port::BarPort;
use super::host_port::HostPort;
use super::link_port::LinkPort;
use super::memory_port::MemoryPort;
use crate::CardError;
use timing::pcie::Link;
use units::Picoseconds;

/// The way to the host, which those who move bytes share.
pub(crate) struct Way<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) map: &'a AddressMap,
}

/// Something around the shell.
pub(crate) trait Surrounding {
    /// Takes what crosses the pins at this edge. Returns whether they are in use.
    fn sample(&mut self, at: Picoseconds, way: &mut Way<'_>) -> Result<bool, CardError>;

    /// Drives the inputs of the shell for the next edge. Returns whether any changed.
    fn drive(&mut self, at: Picoseconds) -> bool;

    /// When it can next change an input of the shell by itself.
    fn next_event(&self, now: Picoseconds) -> Option<Picoseconds>;
}

/// All that stands around a shell, in the order in which it is looked at.
pub(crate) struct Surroundings {
    pub(crate) memories: Vec<MemoryPort>,
    pub(crate) host: HostPort,
    pub(crate) bar: BarPort,
    /// The coherent link and the CPU, if the card has them.
    pub(crate) coherent: Option<LinkPort>,
}

impl Surroundings {
    pub(crate) fn each(&self) -> impl Iterator<Item = &dyn Surrounding> {
        let memories = self
            .memories
            .iter()
            .map(|memory| memory as &dyn Surrounding);
        let coherent = self.coherent.iter().map(|link| link as &dyn Surrounding);
        memories
            .chain([&self.host as _, &self.bar as _])
            .chain(coherent)
    }

    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut dyn Surrounding> {
        let memories = self
            .memories
            .iter_mut()
            .map(|memory| memory as &mut dyn Surrounding);
        let coherent = self
            .coherent
            .iter_mut()
            .map(|link| link as &mut dyn Surrounding);
        memories
            .chain([&mut self.host as &mut dyn Surrounding, &mut self.bar])
            .chain(coherent)
    }
}
