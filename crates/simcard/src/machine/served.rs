//! Interface for servers of a machine whose host is not in this process: the host chooses the addresses of its memory,
//! has its own clock, and may unmap memory at any time.

use super::Machine;
use card::driver::{Transport, Until, Woken};
use card::event::Event;
use card::memory::HostMemory;
use card::CardError;
use std::sync::Arc;
use units::{HostAddr, Picoseconds};

impl Machine {
    /// Makes host memory reachable by the card, at an address that the host has chosen.
    ///
    /// # Errors
    /// [`CardError::HostMemory`]: the range is in use.
    pub fn map_at(&mut self, address: HostAddr, memory: Arc<HostMemory>) -> Result<(), CardError> {
        match self.engine.map.map_at(address, memory) {
            true => Ok(()),
            false => Err(CardError::HostMemory(format!(
                "something is mapped at 0x{:x}",
                address.get()
            ))),
        }
    }

    /// Unmaps memory from the card, in the middle of its work: it is not accessed any more.
    pub fn take_away(&mut self, address: HostAddr) {
        if let Some(memory) = self.engine.map.unmap(address) {
            self.engine.around.host.forget(&memory);
        }
    }

    /// Waits for events up to a time as [`Transport::wait`] does, whether the bell rings or not.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    pub fn work_until(
        &mut self,
        moment: Picoseconds,
        events: &mut Vec<Event>,
    ) -> Result<Woken, CardError> {
        let bell = self.bell.take();
        let woken = self.wait(Until::Events(Some(moment)), events);
        self.bell = bell;
        woken
    }

    /// Makes all writes of the card visible in the host's memory now: the link's time does not pass while nothing else
    /// happens.
    pub fn settle(&mut self) {
        self.engine.around.host.make_visible(Picoseconds::MAX);
    }
}
