//! What stands around the shell: memories, the host behind its link, the registers' bus, a CPU, networks.
//!
//! The event loop knows no more of them than this: at an edge they look at the shell's outputs, after it
//! they drive its inputs, and in between they can say when they next will by themselves.

use super::bar_port::BarPort;
use super::host_port::HostPort;
use super::link_port::LinkPort;
use super::memory_port::MemoryPort;
use super::model::{Instance, Pin};
use super::network_port::NetworkPort;
use card::driver::AddressMap;
use card::CardError;
use timing::pcie::Link;
use units::Picoseconds;
use verilated::BuildError;

/// The way to the host, which those who move bytes share.
pub(crate) struct Way<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) map: &'a AddressMap,
}

/// The pin that is low while the host resets the shell, for what stands around it.
pub(crate) fn peripheral_reset(shell: &Instance) -> Result<Pin<u8>, BuildError> {
    let name = "peripheral_rst_no";
    shell
        .pin::<u8>(name, 0)
        .ok_or_else(|| BuildError::Mismatch {
            kernel: shell.info().name.clone(),
            rule: format!("the shell has no port `{name}` of one bit"),
        })
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
    pub(crate) networks: Vec<NetworkPort>,
}

impl Surroundings {
    /// All take what crosses their pins. Returns whether any are in use.
    #[inline]
    pub(crate) fn sample(&mut self, at: Picoseconds, way: &mut Way<'_>) -> Result<bool, CardError> {
        let mut active = false;
        for memory in &mut self.memories {
            active |= memory.sample(at, way)?;
        }
        active |= self.host.sample(at, way)?;
        active |= self.bar.sample(at, way)?;
        if let Some(link) = &mut self.coherent {
            active |= link.sample(at, way)?;
        }
        for network in &mut self.networks {
            active |= network.sample(at, way)?;
        }
        Ok(active)
    }

    /// All drive the inputs of the shell. Returns whether any changed.
    #[inline]
    pub(crate) fn drive(&mut self, at: Picoseconds) -> bool {
        let mut changed = false;
        for memory in &mut self.memories {
            changed |= memory.drive(at);
        }
        changed |= self.host.drive(at);
        changed |= self.bar.drive(at);
        if let Some(link) = &mut self.coherent {
            changed |= link.drive(at);
        }
        for network in &mut self.networks {
            changed |= network.drive(at);
        }
        changed
    }

    /// The next time at which any changes an input of the shell by itself.
    pub(crate) fn next_event(&self, now: Picoseconds) -> Option<Picoseconds> {
        let memories = self.memories.iter();
        let events = memories.filter_map(|memory| memory.next_event(now));
        let coherent = self.coherent.as_ref();
        let others = [
            self.host.next_event(now),
            self.bar.next_event(now),
            coherent.and_then(|link| link.next_event(now)),
        ];
        let networks = self.networks.iter();
        let networks = networks.filter_map(|network| network.next_event(now));
        events
            .chain(others.into_iter().flatten())
            .chain(networks)
            .min()
    }
}
