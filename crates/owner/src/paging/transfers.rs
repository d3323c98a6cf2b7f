//! Transfers between files and memory that a card reaches, and their cost in time.

use super::files::Backing;
use super::host_time::Work;
use super::moved::MovedBytes;
use super::page_cache::{Found, PageCache};
use super::patience::Awaited;
use super::shares::{Share, Windows};
use crate::kernels::Kernels;
use crate::message::FileState;
use crate::paging::Paging;
use crate::OwnerOptions;
use card::memory::HostMemory;
use card::HostWork;
use error::Error;
use file_io::{write_stopped, Direction, Transfer, TransferId};
use pager::{Around, BufferId, Event, IoError, IoId, ObjectId};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use units::Picoseconds;

/// A part of an object that is read or written for the pager.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Identifier by which its end is reported to the pager.
    pub(super) io: IoId,
    pub(super) object: ObjectId,
    /// Offset in the object, in bytes.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A place in memory that the card reaches.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) memory: Arc<HostMemory>,
    pub(super) offset: u64,
    /// Sizes before and behind the part that are zeroed after a read; `None`: up to the edges of its rows.
    pub(super) around: Option<Around>,
}

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Pending {
    direction: Direction,
    part: Part,
    place: Place,
    /// The device of the file's mount.
    device: u64,
    /// The file's name, for messages.
    label: String,
}

impl Pending {
    pub(super) fn id(&self) -> TransferId {
        TransferId(self.part.io.0)
    }

    /// The description of a wait for its bytes.
    pub(super) fn awaited(&self) -> Awaited {
        Awaited {
            device: self.device,
            label: self.label.clone(),
            what: match self.direction {
                Direction::Read => "reading it",
                Direction::Write => "writing it back",
            },
        }
    }

    /// The work of a copy out of the host's page cache.
    fn copy(&self) -> HostWork {
        let bytes = self.part.bytes;
        HostWork::PageCacheCopy { bytes }
    }
}

/// A transfer that waits because its share has enough under way.
#[derive(Debug)]
struct Queued {
    direction: Direction,
    part: Part,
    place: Place,
}

/// The cost of a transfer, and the read-around that is requested with it.
struct Price {
    /// `None`: no cost so far, the requested bytes are on their way.
    work: Option<HostWork>,
    along: Option<Range<u64>>,
}

/// Transfers under way: the model gives their time, the system moves their bytes, and a transfer is over when
/// both are complete.
pub(super) struct Transfers {
    /// The buffers of the pager, contiguous.
    buffers: Arc<HostMemory>,
    buffer_bytes: u64,
    /// The model of the host's page cache.
    page_cache: PageCache,
    /// Transfers whose bytes were moved before their modelled time was over.
    arrived: BTreeMap<TransferId, io::Result<usize>>,
    /// Transfers whose time is over before their bytes have arrived; only if the clock does not wait.
    late: BTreeMap<TransferId, Pending>,
    /// Only on a card in virtual time.
    moved: Option<MovedBytes>,
    /// By share and device, if there are several shares: a mount that does not answer delays no other one.
    windows: Windows<(Option<Share>, u64), TransferId, Queued>,
}

impl Transfers {
    /// Creates the state, with these buffers of the pager.
    pub(super) fn new(
        buffers: Arc<HostMemory>,
        buffer_bytes: u64,
        moved: Option<MovedBytes>,
        options: &OwnerOptions,
    ) -> Self {
        Self {
            buffers,
            buffer_bytes,
            page_cache: PageCache::new(options.host_read_ahead_bytes, options.read_around_bytes),
            arrived: BTreeMap::new(),
            late: BTreeMap::new(),
            moved,
            windows: Windows::default(),
        }
    }

    /// Position of a byte of a buffer in host memory.
    pub(super) fn place_in(&self, buffer: BufferId, offset: u64) -> Place {
        Place {
            memory: self.buffers.clone(),
            offset: u64::from(buffer.0) * self.buffer_bytes + offset,
            around: None,
        }
    }

    /// Whether the time of a transfer is over while its bytes are missing.
    pub(super) fn any_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Whether the bytes of this transfer are missing.
    pub(super) fn lacks(&self, pending: &Pending) -> bool {
        !self.arrived.contains_key(&pending.id())
    }

    /// Adds holes to the hash: the time of a run depends on where a file has them.
    pub(super) fn has_holes(&mut self, holes: &[Range<u64>]) {
        if let Some(moved) = &mut self.moved {
            holes.iter().for_each(|hole| moved.note_hole(hole));
        }
    }

    /// The hash of all bytes that were moved; nothing without virtual time.
    pub(super) fn bytes_hash(&self) -> String {
        let moved = self.moved.as_ref();
        moved.map_or_else(String::new, MovedBytes::hex)
    }

    /// The cost of a transfer.
    fn price(&mut self, direction: Direction, part: Part, backing: &Backing) -> Price {
        let Part {
            object,
            offset,
            bytes,
            ..
        } = part;
        let (length, place) = (backing.length, offset..offset + bytes);
        let mut along = None;
        let work = match (direction, backing.state) {
            (_, FileState::Warm) => Some(HostWork::PageCacheCopy { bytes }),
            (Direction::Write, FileState::Cold) => {
                self.page_cache.written(object, &place, length);
                Some(HostWork::StorageWrite { bytes })
            }
            (Direction::Read, FileState::Cold) if backing.is_hole => {
                Some(HostWork::PageCacheCopy { bytes })
            }
            (Direction::Read, FileState::Cold) => {
                match self.page_cache.find(object, place, length) {
                    Found::Storage(bytes) => Some(HostWork::StorageRead { bytes }),
                    Found::Around(bytes, window) => {
                        along = Some(window);
                        Some(HostWork::StorageRead { bytes })
                    }
                    Found::Cached => Some(HostWork::PageCacheCopy { bytes }),
                    Found::Coming => None,
                }
            }
        };
        Price { work, along }
    }

    /// Records in the hash that bytes have arrived at their destination.
    fn note(&mut self, pending: &Pending, bytes: usize) {
        if let Some(moved) = &mut self.moved {
            let start = pending.place.offset as usize;
            let memory = &pending.place.memory;
            moved.note(
                pending.direction,
                pending.part.offset,
                memory,
                start..start + bytes,
            );
        }
    }
}

impl Paging {
    /// Moves a part of an object, now or when its share has room for it.
    pub(super) fn start_transfer(
        &mut self,
        kernels: &mut Kernels,
        direction: Direction,
        part: Part,
        place: Place,
    ) -> Result<(), Error> {
        if !self.service.shares.are_several() {
            return self.move_part(kernels, direction, part, place);
        }
        let share = self.service.shares.of(self.pager.space_of(part.io));
        let device = self.backing_of(direction, part)?.device;
        let id = TransferId(part.io.0);
        let queued = Queued {
            direction,
            part,
            place,
        };
        let windows = &mut self.transfers.windows;
        match windows.begin((share, device), id, part.bytes, queued) {
            Some(Queued { place, .. }) => self.move_part(kernels, direction, part, place),
            None => Ok(()),
        }
    }

    fn backing_of(&self, direction: Direction, part: Part) -> Result<Backing, Error> {
        let usual = self.options.file_state;
        let backing = self.files.backing(direction, part, usual);
        backing.ok_or_else(|| Error::Internal(format!("{} has no file", part.object)))
    }

    fn move_part(
        &mut self,
        kernels: &mut Kernels,
        direction: Direction,
        part: Part,
        place: Place,
    ) -> Result<(), Error> {
        let object = part.object;
        let backing = self.backing_of(direction, part)?;
        let price = match direction == Direction::Read && self.hot.is_on(kernels) {
            true => Price {
                work: Some(HostWork::Serve(Picoseconds::ZERO)),
                along: None,
            },
            false => self.transfers.price(direction, part, &backing),
        };
        let pending = Pending {
            direction,
            part,
            place,
            device: backing.device,
            label: backing.label,
        };
        if direction == Direction::Write {
            self.files.fill(part);
            self.transfers.note(&pending, part.bytes as usize);
        }
        let transfer = Transfer {
            id: pending.id(),
            direction,
            file: backing.file,
            file_offset: part.offset,
            memory: pending.place.memory.clone(),
            memory_offset: pending.place.offset as usize,
            bytes: part.bytes as usize,
            along: price.along,
        };
        match self.files.behind(object) {
            Some(behind) => {
                let begun = behind.transfer(transfer);
                begun.map_err(|error| Error::Internal(format!("{}: {error}", pending.label)))?;
            }
            None => self.lanes.transfer(pending.device, transfer),
        }
        match price.work {
            Some(work) => {
                self.host_time
                    .begin(kernels.card(), work, Work::Transfer(pending));
            }
            None => {
                let place = part.offset..part.offset + part.bytes;
                self.transfers.page_cache.hold(object, &place, pending);
            }
        }
        let cache = &mut self.transfers.page_cache;
        if let (Direction::Read, Some(bytes)) = (direction, cache.ahead(object)) {
            self.host_time.begin(
                kernels.card(),
                HostWork::StorageRead { bytes },
                Work::ReadAhead(object),
            );
        }
        Ok(())
    }

    /// Handles the end of a transfer's modelled time.
    pub(super) fn transfer_timed(
        &mut self,
        kernels: &mut Kernels,
        pending: Pending,
    ) -> Result<(), Error> {
        if pending.direction == Direction::Read {
            let part = pending.part;
            let held = self.transfers.page_cache.came(part.object, part.offset);
            self.begin_copies(kernels, held);
        }
        let id = pending.id();
        match self.transfers.arrived.remove(&id) {
            Some(result) => self.finish_transfer(kernels, pending, result),
            None => {
                self.transfers.late.insert(id, pending);
                Ok(())
            }
        }
    }

    /// Handles the arrival of a read-ahead in the host's page cache.
    pub(super) fn read_ahead(&mut self, kernels: &mut Kernels, object: ObjectId) {
        let held = self.transfers.page_cache.arrived(object);
        self.begin_copies(kernels, held);
    }

    fn begin_copies(&mut self, kernels: &mut Kernels, held: Vec<Pending>) {
        for pending in held {
            self.host_time
                .begin(kernels.card(), pending.copy(), Work::Transfer(pending));
        }
    }

    /// Handles the arrival of a transfer's bytes. Returns true if this completes the transfer.
    pub(super) fn transfer_moved(
        &mut self,
        kernels: &mut Kernels,
        id: TransferId,
        result: io::Result<usize>,
    ) -> Result<bool, Error> {
        self.patience.moved(id);
        match self.transfers.late.remove(&id) {
            Some(pending) => self
                .finish_transfer(kernels, pending, result)
                .map(|()| true),
            None => {
                self.transfers.arrived.insert(id, result);
                Ok(false)
            }
        }
    }

    fn finish_transfer(
        &mut self,
        kernels: &mut Kernels,
        pending: Pending,
        result: io::Result<usize>,
    ) -> Result<(), Error> {
        let Part {
            io,
            object,
            offset,
            bytes,
        } = pending.part;
        let result = result.and_then(|moved| {
            match pending.direction {
                Direction::Read => {
                    zero_around(&pending, moved)?;
                    self.transfers.note(&pending, moved);
                }
                // Whichever implementation does the I/O: bytes that are not in the file are not written back.
                Direction::Write if (moved as u64) < bytes => return Err(write_stopped()),
                Direction::Write => {}
            }
            Ok(moved as u64)
        });
        let result = result.map_err(|source| {
            let code = source.raw_os_error().unwrap_or(libc::EIO);
            if pending.direction == Direction::Write {
                let error = Error::Transfer {
                    label: pending.label,
                    direction: "writing back",
                    bytes,
                    offset,
                    source,
                };
                self.answers.write_back_failed(object, offset, error);
            }
            IoError::Os(code)
        });
        let next = self
            .transfers
            .windows
            .end(&TransferId(io.0), |queued| TransferId(queued.part.io.0));
        for queued in next {
            self.move_part(kernels, queued.direction, queued.part, queued.place)?;
        }
        self.tell(kernels, Event::IoDone { id: io, result })
    }
}

/// Zeroes the bytes that a file did not fill, from the row in which the copy begins to the row in which it ends;
/// on a page that stays in host memory, the whole page.
fn zero_around(pending: &Pending, read: usize) -> io::Result<()> {
    let row = units::ROW_BYTES as usize;
    let start = pending.place.offset as usize;
    let end = start + pending.part.bytes as usize;
    let (lead, end) = match pending.place.around {
        None => (start % row, end.next_multiple_of(row)),
        Some(around) => (around.before as usize, end + around.behind as usize),
    };
    let behind = start + read;
    let memory = &pending.place.memory;
    memory
        .zero(start - lead, lead)
        .and_then(|()| memory.zero(behind, end - behind))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}
