//! Card memory as the host of a simulation sees it: accesses that bypass the shell.

use super::super::memory_port::MemoryPort;
use card::command::Command;
use card::driver::AddressMap;
use card::CardError;
use units::{CardAddr, Operation};

/// The content of card memory.
pub(super) struct MemoryImage<'a> {
    pub(super) channels: &'a mut [MemoryPort],
    pub(super) channel_bytes_log2: u8,
}

impl MemoryImage<'_> {
    /// Writes bytes to the memory of one channel.
    pub(super) fn write(&mut self, to: CardAddr, bytes: &[u8]) -> Result<(), CardError> {
        let log2 = self.channel_bytes_log2;
        let (channel, offset) = (to.get() >> log2, to.get() & ((1 << log2) - 1));
        let memory = self.channels.get_mut(channel as usize);
        match memory.is_some_and(|memory| memory.preload(offset, bytes)) {
            true => Ok(()),
            false => Err(CardError::Configuration(format!(
                "{} bytes at {to}: not in the memory of one channel",
                bytes.len()
            ))),
        }
    }

    /// Executes a copy from mapped host memory, or the zeroing of card memory; false for any other command.
    pub(super) fn execute(
        &mut self,
        map: &AddressMap,
        command: &Command,
    ) -> Result<bool, CardError> {
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
            let found = map.find(from.get(), bytes);
            let read =
                found.is_some_and(|(memory, offset)| memory.read(offset, &mut content).is_ok());
            if !read {
                return Err(CardError::HostMemory(format!(
                    "{bytes} bytes at 0x{:x} are not mapped",
                    from.get()
                )));
            }
        }
        for (place, part) in stripe.pieces(to, bytes, self.channel_bytes_log2) {
            self.write(place, &content[part.start as usize..part.end as usize])?;
        }
        Ok(true)
    }
}
