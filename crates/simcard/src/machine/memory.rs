//! Writes to card memory that bypass the shell.

use super::Machine;
use card::command::Command;
use card::CardError;
use units::Operation;

impl Machine {
    /// Writes bytes to card memory at zero cost in virtual time, bypassing the shell: preloaded (*hot*) data, for
    /// experiments that exclude the cost of loading. No stripe is applied. A real card has no such path, so it is not
    /// in [`Card`](card::Card); a report of such a run must state it. A page table may be written like this if its
    /// space uses one page size only: the shell's filter of page sizes counts installs.
    ///
    /// # Errors
    /// [`CardError::Configuration`]: the range is not in one channel's memory.
    pub fn preload(&mut self, to: units::CardAddr, bytes: &[u8]) -> Result<(), CardError> {
        let log2 = self.description.channel_bytes_log2;
        let (channel, offset) = (to.get() >> log2, to.get() & ((1 << log2) - 1));
        let memory = self.engine.memories_mut().get_mut(channel as usize);
        match memory.is_some_and(|memory| memory.preload(offset, bytes)) {
            true => Ok(()),
            false => Err(CardError::Configuration(format!(
                "{} bytes at {to}: not in the memory of one channel",
                bytes.len()
            ))),
        }
    }

    /// Executes a copy to card memory, or its zeroing, at once; false for any other command.
    pub(crate) fn place(&mut self, command: &Command) -> Result<bool, CardError> {
        let (from, to, bytes, stripe) = match command.operation {
            Operation::CopyIn {
                from,
                to,
                bytes,
                stripe,
            } => (Some(from), to, bytes, stripe),
            Operation::Zero { to, bytes, stripe } => (None, to, bytes, stripe),
            _ => return Ok(false),
        };
        let mut content = vec![0; bytes as usize];
        if let Some(from) = from {
            let found = self.engine.map.find(from.get(), bytes);
            let read =
                found.is_some_and(|(memory, offset)| memory.read(offset, &mut content).is_ok());
            if !read {
                return Err(CardError::HostMemory(format!(
                    "{bytes} bytes at 0x{:x} are not mapped",
                    from.get()
                )));
            }
        }
        let log2 = self.description.channel_bytes_log2;
        for (place, part) in stripe.pieces(to, bytes, log2) {
            self.preload(place, &content[part.start as usize..part.end as usize])?;
        }
        Ok(true)
    }
}
