//! Card memory behind the directory: a range at the end of each channel that the pager never sees.

use card::coherent::home_register;
use card::home_registers as reg;
use card::Card;
use error::Error;
use units::CardDescription;

/// Granule of card memory for the directory, in bytes.
const FRAME_BYTES: u64 = 4096;

/// The range, the same in each channel that holds lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeRange {
    /// Number of channels, from the first.
    channels: u64,
    /// Offset of the range in each channel, in bytes.
    offset: u64,
    /// Size of the range in each channel, in bytes.
    each: u64,
}

impl HomeRange {
    /// Reserves the end of the channels; `None` for 0 bytes.
    pub(crate) fn reserve(card: &mut dyn Card, bytes: u64) -> Result<Option<Self>, Error> {
        if bytes == 0 {
            return Ok(None);
        }
        // A card that is not coherent reports that.
        card.need_lines()?;
        let status = card.read_register(home_register(reg::STATUS))?;
        let slices = u64::from(reg::status::SLICES.get(status));
        let description: &CardDescription = card.description();
        // The mapping of rtl/home/tmb_home_memory.sv: one channel per slice, or one for all.
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

    /// Bytes of a channel that remain for the pager.
    pub(crate) fn rest_of(&self, channel: u64, bytes: u64) -> u64 {
        match channel < self.channels {
            true => self.offset,
            false => bytes,
        }
    }

    /// Size of the range over all channels, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.channels * self.each
    }

    /// Makes card memory serve the directory's lines. The register writes are posted.
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
