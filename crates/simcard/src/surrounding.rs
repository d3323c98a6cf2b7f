//! The surroundings of the shell: memories, the host behind its link, the registers' bus, a CPU,
//! networks.
//!
//! The event loop knows only this interface: at an edge they sample the shell's outputs, after it they
//! drive its inputs, and in between they give the time of their next independent change.

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

/// The path to the host, shared by the units that move bytes.
pub(crate) struct HostPath<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) map: &'a AddressMap,
}

/// The active-low pin by which the shell resets its surroundings while the host resets the shell.
pub(crate) fn peripheral_reset(shell: &Instance) -> Result<Pin<u8>, BuildError> {
    let name = "peripheral_rst_no";
    shell
        .pin::<u8>(name, 0)
        .ok_or_else(|| BuildError::Mismatch {
            kernel: shell.info().name.clone(),
            rule: format!("the shell has no port `{name}` of one bit"),
        })
}

/// A unit in the surroundings of the shell.
pub(crate) trait Surrounding {
    /// Samples the transfers at this edge. Returns whether the pins are in use.
    fn sample(&mut self, at: Picoseconds, path: &mut HostPath<'_>) -> Result<bool, CardError>;

    /// Drives the inputs of the shell for the next edge. Returns whether any changed.
    fn drive(&mut self, at: Picoseconds) -> bool;

    /// The next time at which it can change an input of the shell independently.
    fn next_event(&self, now: Picoseconds) -> Option<Picoseconds>;
}

/// All surroundings of a shell, in the order of evaluation.
pub(crate) struct Surroundings {
    pub(crate) memories: Vec<MemoryPort>,
    pub(crate) host: HostPort,
    pub(crate) bar: BarPort,
    /// The coherent link and the CPU, if the card has them.
    pub(crate) coherent: Option<LinkPort>,
    pub(crate) networks: Vec<NetworkPort>,
}

impl Surroundings {
    /// Samples all units. Returns whether any pins are in use.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        at: Picoseconds,
        path: &mut HostPath<'_>,
    ) -> Result<bool, CardError> {
        let mut active = false;
        for memory in &mut self.memories {
            active |= memory.sample(at, path)?;
        }
        active |= self.host.sample(at, path)?;
        active |= self.bar.sample(at, path)?;
        if let Some(link) = &mut self.coherent {
            active |= link.sample(at, path)?;
        }
        for network in &mut self.networks {
            active |= network.sample(at, path)?;
        }
        Ok(active)
    }

    /// Drives the inputs of the shell from all units. Returns whether any changed.
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

    /// The next time at which any unit changes an input of the shell independently.
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
