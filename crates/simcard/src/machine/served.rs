//! What somebody needs who serves the machine to a host that is not in this process: its memory lies where it says, its
//! clock is not the machine's, and it may take memory away at any moment.

use super::Machine;
use card::driver::{Transport, Until, Woken};
use card::event::Event;
use card::memory::HostMemory;
use card::CardError;
use std::sync::Arc;
use units::{HostAddr, Picoseconds};

impl Machine {
    /// Lets the card reach memory of the host at an address that the host has chosen.
    ///
    /// # Errors
    /// [`CardError::HostMemory`]: something is there already.
    pub fn map_at(&mut self, address: HostAddr, memory: Arc<HostMemory>) -> Result<(), CardError> {
        match self.engine.map.map_at(address, memory) {
            true => Ok(()),
            false => Err(CardError::HostMemory(format!(
                "something is mapped at 0x{:x}",
                address.get()
            ))),
        }
    }

    /// Takes memory away from the card, in the middle of whatever it does: nothing is read or written there any more.
    pub fn take_away(&mut self, address: HostAddr) {
        if let Some(memory) = self.engine.map.unmap(address) {
            self.engine.around.host.forget(&memory);
        }
    }

    /// Waits as [`Transport::wait`] does for events up to a moment, whether the bell rings or not.
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

    /// Lets everything that the card has written reach the host's memory now: time of the link does not pass while
    /// nothing else happens.
    pub fn settle(&mut self) {
        self.engine.around.host.make_visible(Picoseconds::MAX);
    }
}
