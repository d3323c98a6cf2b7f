//! Transfers between files and memory that a card reaches, and their cost in time.

use super::answers::Answers;
use super::files::{Files, PartSource};
use super::host_time::{HostTime, Work};
use super::hot::Hot;
use super::lanes::Lanes;
use super::moved::MovedBytes;
use super::page_cache::{Location, PageCache};
use super::shares::{ServiceShare, Windows};
use super::timeouts::FileWait;
use super::Buffers;
use crate::kernels::Kernels;
use crate::message::FileState;
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
use units::{HostAddr, Picoseconds};

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

impl Part {
    pub(super) fn new(io: IoId, object: ObjectId, offset: u64, bytes: u64) -> Self {
        Self {
            io,
            object,
            offset,
            bytes,
        }
    }
}

/// A place in memory that the card reaches.
#[derive(Clone, Debug)]
pub(super) struct HostPlace {
    pub(super) memory: Arc<HostMemory>,
    pub(super) offset: u64,
    /// Sizes before and behind the part that are zeroed after a read; `None`: up to the edges of its rows.
    pub(super) around: Option<Around>,
    /// Its address on the card, in a buffer of the pager; for the timeline.
    pub(super) buffer: Option<HostAddr>,
}

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Pending {
    direction: Direction,
    part: Part,
    place: HostPlace,
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
    pub(super) fn wait(&self) -> FileWait {
        FileWait {
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
        HostWork::PageCacheCopy {
            bytes: self.part.bytes,
            into: self.place.buffer,
        }
    }
}

/// A transfer that is to begin, or waits because its share has enough under way.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) direction: Direction,
    pub(super) part: Part,
    pub(super) place: HostPlace,
}

/// The rooms that transfers use.
pub(super) struct Route<'a> {
    pub(super) files: &'a mut Files,
    pub(super) lanes: &'a mut Lanes,
    pub(super) host_time: &'a mut HostTime,
    pub(super) answers: &'a mut Answers,
    pub(super) hot: &'a Hot,
    pub(super) kernels: &'a mut Kernels,
}

impl Route<'_> {
    fn source(&self, wanted: &Move, usual: FileState) -> Result<PartSource, Error> {
        let source = self.files.source_of(wanted.direction, wanted.part, usual);
        source.ok_or_else(|| Error::Internal(format!("{} has no file", wanted.part.object)))
    }

    fn begin_copies(&mut self, held: Vec<Pending>) {
        for pending in held {
            let copy = pending.copy();
            self.begin(copy, Work::Transfer(pending));
        }
    }

    fn begin(&mut self, work: HostWork, then: Work) {
        self.host_time.begin(self.kernels.card(), work, then);
    }
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
    buffers: Buffers,
    /// Where the bytes of files are unless a mapping states it.
    usual: FileState,
    /// The model of the host's page cache.
    page_cache: PageCache,
    /// Transfers whose bytes were moved before their modelled time was over.
    arrived: BTreeMap<TransferId, io::Result<usize>>,
    /// Transfers whose time is over before their bytes have arrived; only if the clock does not wait.
    late: BTreeMap<TransferId, Pending>,
    /// Only on a card in virtual time.
    moved: Option<MovedBytes>,
    /// By share and device, if there are several shares: a mount that does not answer delays no other one.
    windows: Windows<(Option<ServiceShare>, u64), TransferId, Move>,
}

impl Transfers {
    /// Creates the state, with these buffers of the pager.
    pub(super) fn new(buffers: Buffers, moved: Option<MovedBytes>, options: &OwnerOptions) -> Self {
        Self {
            buffers,
            usual: options.file_state,
            page_cache: PageCache::new(options.host_read_ahead_bytes, options.read_around_bytes),
            arrived: BTreeMap::new(),
            late: BTreeMap::new(),
            moved,
            windows: Windows::default(),
        }
    }

    /// Position of a byte of a buffer in host memory.
    pub(super) fn place_in(&self, buffer: BufferId, offset: u64) -> HostPlace {
        self.buffers.place_in(buffer, offset)
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
    fn price(&mut self, wanted: &Move, source: &PartSource) -> Price {
        let Part {
            object,
            offset,
            bytes,
            ..
        } = wanted.part;
        let (length, place) = (source.length, offset..offset + bytes);
        let direction = wanted.direction;
        let into = match direction {
            Direction::Read => wanted.place.buffer,
            Direction::Write => None,
        };
        let copy = HostWork::PageCacheCopy { bytes, into };
        let read = |bytes| HostWork::StorageRead { bytes, into };
        let mut along = None;
        let work = match (direction, source.state) {
            (_, FileState::Warm) => Some(copy),
            (Direction::Write, FileState::Cold) => {
                self.page_cache.written(object, &place, length);
                Some(HostWork::StorageWrite { bytes })
            }
            (Direction::Read, FileState::Cold) if source.is_hole => Some(copy),
            (Direction::Read, FileState::Cold) => {
                match self.page_cache.find(object, place, length) {
                    Location::Storage(bytes) => Some(read(bytes)),
                    Location::Around(bytes, window) => {
                        along = Some(window);
                        Some(read(bytes))
                    }
                    Location::Cached => Some(copy),
                    Location::Coming => None,
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

impl Transfers {
    /// Moves a part of an object, now or when its share has room for it. With several shares, `share` is the one whose
    /// window counts it.
    pub(super) fn start(
        &mut self,
        route: &mut Route<'_>,
        wanted: Move,
        share: Option<Option<ServiceShare>>,
    ) -> Result<(), Error> {
        let Some(share) = share else {
            return self.move_part(route, wanted);
        };
        let device = route.source(&wanted, self.usual)?.device;
        let part = wanted.part;
        let id = TransferId(part.io.0);
        match self.windows.begin((share, device), id, part.bytes, wanted) {
            Some(wanted) => self.move_part(route, wanted),
            None => Ok(()),
        }
    }

    fn move_part(&mut self, route: &mut Route<'_>, wanted: Move) -> Result<(), Error> {
        let source = route.source(&wanted, self.usual)?;
        let price = match wanted.direction == Direction::Read && route.hot.is_on(route.kernels) {
            true => Price {
                work: Some(HostWork::Serve(Picoseconds::ZERO)),
                along: None,
            },
            false => self.price(&wanted, &source),
        };
        let Move {
            direction,
            part,
            place,
        } = wanted;
        let object = part.object;
        let pending = Pending {
            direction,
            part,
            place,
            device: source.device,
            label: source.label,
        };
        if direction == Direction::Write {
            route.files.fill(part);
            self.note(&pending, part.bytes as usize);
        }
        let transfer = Transfer {
            id: pending.id(),
            direction,
            file: source.file,
            file_offset: part.offset,
            memory: pending.place.memory.clone(),
            memory_offset: pending.place.offset as usize,
            bytes: part.bytes as usize,
            along: price.along,
        };
        match route.files.backing(object) {
            Some(backing) => {
                let begun = backing.transfer(transfer);
                begun.map_err(|error| Error::Internal(format!("{}: {error}", pending.label)))?;
            }
            None => route.lanes.transfer(pending.device, transfer),
        }
        match price.work {
            Some(work) => route.begin(work, Work::Transfer(pending)),
            None => {
                let place = part.offset..part.offset + part.bytes;
                self.page_cache.hold(object, &place, pending);
            }
        }
        // Asking is a promise to begin what is due, so a write does not ask.
        let ahead = match direction {
            Direction::Read => self.page_cache.ahead(object),
            Direction::Write => None,
        };
        if let Some(bytes) = ahead {
            let work = HostWork::StorageRead { bytes, into: None };
            route.begin(work, Work::ReadAhead(object));
        }
        Ok(())
    }

    /// Handles the end of a transfer's modelled time. Returns the event for the pager if the bytes are there.
    pub(super) fn timed(
        &mut self,
        route: &mut Route<'_>,
        pending: Pending,
    ) -> Result<Option<Event>, Error> {
        if pending.direction == Direction::Read {
            let part = pending.part;
            route.begin_copies(self.page_cache.came(part.object, part.offset));
        }
        let id = pending.id();
        match self.arrived.remove(&id) {
            Some(result) => self.finish(route, pending, result).map(Some),
            None => {
                self.late.insert(id, pending);
                Ok(None)
            }
        }
    }

    /// Handles the arrival of a read-ahead in the host's page cache.
    pub(super) fn read_ahead(&mut self, route: &mut Route<'_>, object: ObjectId) {
        route.begin_copies(self.page_cache.arrived(object));
    }

    /// Handles the arrival of a transfer's bytes. Returns the event for the pager if its time is over, too.
    pub(super) fn moved(
        &mut self,
        route: &mut Route<'_>,
        id: TransferId,
        result: io::Result<usize>,
    ) -> Result<Option<Event>, Error> {
        route.lanes.timeouts().moved(id);
        match self.late.remove(&id) {
            Some(pending) => self.finish(route, pending, result).map(Some),
            None => {
                self.arrived.insert(id, result);
                Ok(None)
            }
        }
    }

    /// Ends a transfer, and begins those that waited for it. Returns the event for the pager.
    fn finish(
        &mut self,
        route: &mut Route<'_>,
        pending: Pending,
        result: io::Result<usize>,
    ) -> Result<Event, Error> {
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
                    self.note(&pending, moved);
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
                route.answers.write_back_failed(object, offset, error);
            }
            IoError::Os(code)
        });
        let next = self
            .windows
            .end(&TransferId(io.0), |wanted| TransferId(wanted.part.io.0));
        for wanted in next {
            self.move_part(route, wanted)?;
        }
        Ok(Event::IoDone { id: io, result })
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
