//! Card memory behind the directory: a range at the end of each channel that the pager never sees.

use card::coherent::home_register;
use card::home_registers as reg;
use card::Card;
use error::Error;
use units::CardDescription;

/// What card memory is divided into for the directory.
const FRAME_BYTES: u64 = 4096;

/// The range, in each of the channels that have lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeRange {
    /// Channels, from the first.
    channels: u64,
    /// Where in a channel.
    offset: u64,
    /// Bytes of it.
    each: u64,
}

impl HomeRange {
    /// Keeps the end of the channels; `None` for 0 bytes.
    pub(crate) fn reserve(card: &mut dyn Card, bytes: u64) -> Result<Option<Self>, Error> {
        if bytes == 0 {
            return Ok(None);
        }
        // A card that is not coherent says so.
        card.need_lines()?;
        let status = card.read_register(home_register(reg::STATUS))?;
        let slices = u64::from(reg::status::SLICES.get(status));
        let description: &CardDescription = card.description();
        // As rtl/home/tmb_home_memory.sv has it: a channel a slice, or one for all.
        let channels = match u64::from(description.channels) >= slices {
            true => slices,
            false => 1,
        };
        let channel_bytes = description.channel_bytes;
        let each = bytes / channels;
        if bytes % (channels * FRAME_BYTES) != 0 || each >= channel_bytes {
            return Err(Error::HomeMemory {
                bytes,
                unit: channels * FRAME_BYTES,
                limit: channels * channel_bytes,
            });
        }
        Ok(Some(Self {
            channels,
            offset: (channel_bytes - each) / FRAME_BYTES * FRAME_BYTES,
            each,
        }))
    }

    /// Bytes of a channel that are left for the pager.
    pub(crate) fn rest_of(&self, channel: u64, bytes: u64) -> u64 {
        match channel < self.channels {
            true => self.offset,
            false => bytes,
        }
    }

    /// All of it.
    pub(super) fn bytes(&self) -> u64 {
        self.channels * self.each
    }

    /// Lets card memory serve the directory's lines. The registers are posted writes.
    pub(super) fn place(&self, card: &mut dyn Card) -> Result<(), Error> {
        let frames = |bytes: u64| (bytes / FRAME_BYTES) as u32;
        let values = [
            (reg::MEMORY_BASE, frames(self.offset)),
            (reg::MEMORY_SIZE, frames(self.each)),
            (reg::ROUTE, reg::route::MEMORY.put(1)),
        ];
        for (register, value) in values {
            card.write_register(home_register(register), value)?;
        }
        Ok(())
    }
}
