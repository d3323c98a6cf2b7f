//! The simulated host: DMA buffers, objects as rows of version stamps, I/O in any order.

use super::rng::Rng;
use super::{Verdict, ROW};
use crate::action::{Action, Around, DirectTransfer};
use crate::error::IoError;
use crate::event::Event;
use crate::ids::{BufferId, IoId, ObjectId};
use std::collections::{BTreeMap, BTreeSet};
use units::HostAddr;

/// Stamp of a row that must never be read.
pub(super) const POISON: u64 = u64::MAX;

/// Address of a buffer as the card sees it.
pub(super) fn buffer_address(index: usize) -> HostAddr {
    HostAddr::new((index as u64 + 1) << 32)
}

/// Address of an object's direct memory for the card.
pub(super) fn direct_address(object: ObjectId) -> HostAddr {
    HostAddr::new((object.0 % 2047 + 1) << 25)
}

/// An I/O operation under way.
#[derive(Debug)]
struct Io {
    id: IoId,
    write: bool,
    object: ObjectId,
    offset: u64,
    bytes: u64,
    /// `None`: the object's direct memory.
    buffer: Option<BufferId>,
    buffer_offset: u64,
    /// The rows, if they were read at the beginning; otherwise they are read at the end. Both are allowed.
    taken: Option<Vec<u64>>,
}

/// Buffers and storage.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) buffers: Vec<Vec<u64>>,
    /// Pages of objects in host memory.
    pub(super) direct: BTreeMap<ObjectId, Vec<u64>>,
    /// Stored content, by row.
    pub(super) disk: BTreeMap<ObjectId, Vec<u64>>,
    /// Start offset of each object in its file.
    pub(super) starts: BTreeMap<ObjectId, u64>,
    /// Size of each object in bytes.
    pub(super) bytes: BTreeMap<ObjectId, u64>,
    io: Vec<Io>,
    /// Whether writes fail.
    pub(super) full: bool,
    /// Percentage of reads that fail.
    pub(super) read_failures: usize,
    /// Pages (object, offset) with a failed read.
    pub(super) failed_reads: BTreeSet<(ObjectId, u64)>,
    /// Pages (object, offset) with a failed write.
    pub(super) failed_writes: BTreeSet<(ObjectId, u64)>,
    /// The write that has just failed.
    pub(super) just_failed: Option<(ObjectId, u64)>,
}

impl Host {
    /// Size of each buffer in bytes.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.buffers
            .first()
            .map_or(0, |rows| rows.len() as u64 * ROW)
    }

    pub(super) fn new(buffers: usize, buffer_bytes: u64) -> Self {
        Self {
            buffers: vec![vec![POISON; (buffer_bytes / ROW) as usize]; buffers],
            direct: BTreeMap::new(),
            disk: BTreeMap::new(),
            starts: BTreeMap::new(),
            bytes: BTreeMap::new(),
            io: Vec::new(),
            full: false,
            read_failures: 0,
            failed_reads: BTreeSet::new(),
            failed_writes: BTreeSet::new(),
            just_failed: None,
        }
    }

    /// The rows of a buffer from a card's address.
    pub(super) fn rows_at(&mut self, address: HostAddr, rows: usize) -> Verdict<&mut [u64]> {
        let index = (address.get() >> 32) as usize;
        let first = ((address.get() & 0xffff_ffff) / ROW) as usize;
        self.buffers
            .get_mut(index.wrapping_sub(1))
            .and_then(|buffer| buffer.get_mut(first..first + rows))
            .ok_or_else(|| format!("no buffer holds {rows} rows at {address:?}"))
    }

    /// A row of direct memory from a card's address.
    pub(super) fn direct_row(&mut self, address: u64) -> Verdict<&mut u64> {
        let row = (address % (1 << 25) / ROW) as usize;
        self.direct
            .iter_mut()
            .find(|(object, _)| direct_address(**object).get() >> 25 == address >> 25)
            .and_then(|(_, rows)| rows.get_mut(row))
            .ok_or_else(|| format!("no direct memory at 0x{address:x}"))
    }

    fn part(&mut self, io: &Io) -> Verdict<&mut [u64]> {
        let first = (io.buffer_offset / ROW) as usize;
        let rows = io.bytes.div_ceil(ROW) as usize;
        let memory = match io.buffer {
            Some(buffer) => self.buffers.get_mut(buffer.0 as usize),
            None => self.direct.get_mut(&io.object),
        };
        memory
            .and_then(|buffer| buffer.get_mut(first..first + rows))
            .ok_or_else(|| format!("no buffer for {io:?}"))
    }

    fn stored(&mut self, io: &Io) -> Verdict<&mut [u64]> {
        let first = (io.offset / ROW) as usize;
        let rows = io.bytes.div_ceil(ROW) as usize;
        self.disk
            .get_mut(&io.object)
            .and_then(|disk| disk.get_mut(first..first + rows))
            .ok_or_else(|| format!("I/O beyond the object: {io:?}"))
    }

    /// Begins I/O.
    pub(super) fn begin(&mut self, action: &Action, rng: &mut Rng) -> Verdict<()> {
        let mut zeroed = Around::default();
        let (write, io, object, offset, bytes, buffer, buffer_offset) = match *action {
            Action::FillDirect { io, transfer } | Action::SaveDirect { io, transfer } => {
                let write = matches!(action, Action::SaveDirect { .. });
                zeroed = transfer.around;
                let DirectTransfer {
                    object,
                    offset,
                    bytes,
                    at,
                    ..
                } = transfer;
                (write, io, object, offset, bytes, None, at)
            }
            Action::ReadObject {
                io,
                object,
                offset,
                bytes,
                buffer,
                buffer_offset,
            } => (
                false,
                io,
                object,
                offset,
                bytes,
                Some(buffer),
                buffer_offset,
            ),
            Action::WriteObject {
                io,
                object,
                offset,
                bytes,
                buffer,
                buffer_offset,
                around: _,
            } => (true, io, object, offset, bytes, Some(buffer), buffer_offset),
            _ => return Ok(()),
        };
        let length = self.bytes.get(&object).copied().unwrap_or_default();
        let start = self.starts.get(&object).copied().unwrap_or_default();
        if bytes == 0 || offset < start || offset + bytes > length {
            return Err(format!(
                "{bytes} bytes at {offset} of {object}, which is {start}..{length}"
            ));
        }
        let mut new = Io {
            id: io,
            write,
            object,
            offset,
            bytes,
            buffer,
            buffer_offset,
            taken: None,
        };
        let clash =
            |other: &Io| (other.object, other.offset) == (object, offset) && (write || other.write);
        if let Some(other) = self.io.iter().find(|other| clash(other)) {
            return Err(format!("{new:?} overtakes {other:?}"));
        }
        if rng.percent(50) {
            let rows = if write {
                self.part(&new)?.to_vec()
            } else {
                self.stored(&new)?.to_vec()
            };
            new.taken = Some(rows);
        }
        if !write {
            self.part(&new)?.fill(POISON);
            self.zero_around(&new, zeroed)?;
        }
        self.io.push(new);
        Ok(())
    }

    /// Zeroes the rest of a direct page.
    fn zero_around(&mut self, io: &Io, around: Around) -> Verdict<()> {
        let Around { before, behind } = around;
        let Some(memory) = self
            .direct
            .get_mut(&io.object)
            .filter(|_| io.buffer.is_none())
        else {
            return Ok(());
        };
        let start = io.buffer_offset - before;
        let end = io.buffer_offset + io.bytes;
        for range in [start..io.buffer_offset, end..end + behind] {
            let rows = (range.start.div_ceil(ROW) as usize)..(range.end / ROW) as usize;
            let rows = memory.get_mut(rows);
            rows.ok_or_else(|| format!("{io:?} leaves the direct memory"))?
                .fill(0);
        }
        Ok(())
    }

    /// Completes some I/O operation under way.
    pub(super) fn end_one(&mut self, rng: &mut Rng) -> Verdict<Option<Event>> {
        if self.io.is_empty() {
            return Ok(None);
        }
        let index = rng.below(self.io.len());
        let io = self.io.swap_remove(index);
        let result = if io.write {
            self.end_write(&io, rng)?
        } else {
            self.end_read(&io, rng)?
        };
        Ok(Some(Event::IoDone { id: io.id, result }))
    }

    fn end_read(&mut self, io: &Io, rng: &mut Rng) -> Verdict<Result<u64, IoError>> {
        if rng.percent(self.read_failures) {
            self.failed_reads.insert((io.object, io.offset));
            return Ok(Err(IoError::Os(5)));
        }
        let rows = match &io.taken {
            Some(rows) => rows.clone(),
            None => self.stored(io)?.to_vec(),
        };
        self.part(io)?.copy_from_slice(&rows);
        Ok(Ok(io.bytes))
    }

    fn end_write(&mut self, io: &Io, rng: &mut Rng) -> Verdict<Result<u64, IoError>> {
        if self.full && rng.percent(80) {
            self.failed_writes.insert((io.object, io.offset));
            self.just_failed = Some((io.object, io.offset));
            let short = rng.percent(20);
            return Ok(if short {
                Ok(io.bytes / 2)
            } else {
                Err(IoError::Os(28))
            });
        }
        let rows = match &io.taken {
            Some(rows) => rows.clone(),
            None => self.part(io)?.to_vec(),
        };
        for (row, (old, new)) in self.stored(io)?.iter_mut().zip(rows).enumerate() {
            if new == POISON {
                return Err(format!("poison written to row {row} of {io:?}"));
            }
            if new < *old {
                return Err(format!("row {row} goes back from {old} to {new} in {io:?}"));
            }
            *old = new;
        }
        Ok(Ok(io.bytes))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.io.is_empty()
    }
}
