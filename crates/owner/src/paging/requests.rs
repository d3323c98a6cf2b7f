//! Requests of clients about their pages. Each goes to the rooms that it concerns.

use super::direct::{keep_in_host, leave_in_host};
use super::files::{Durable, Locking, Source, View, Wanted};
use super::lanes::InLane;
use super::memory::{BlockPart, ProgramAccess};
use super::pressure::StreamPlace;
use super::programs::TrapElsewhere;
use super::shares::ServiceShare;
use super::spaces::placement;
use super::Paging;
use crate::backing::BackingSource;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::lane::Post;
use crate::message::{ByteRange, ClientId, MapOptions, ServeTrap, TranslationMode};
use crate::participants::Guest;
use crate::tasks::Tasks;
use crate::Aside;
use card::WorkId;
use error::Error;
use file_io::Identity;
use pager::{Event, ObjectId, ObjectKind, PagerError, RequestId, Success};
use std::fs::File;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use trap::{Ticket, View as SharedView};
use units::{
    Advice, Asid, FaultToken, PageSize, Picoseconds, Reuse, SlotId, SpacePlacement, VirtAddr,
};

impl Paging {
    /// Sends the pager an event, and executes its actions.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn tell(&mut self, kernels: &mut Kernels, event: Event) -> Result<(), Error> {
        self.pump.tell(&mut self.files, kernels, event)
    }

    /// Sends the pager an event that it answers later; returns the request.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn ask(
        &mut self,
        kernels: &mut Kernels,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<RequestId, Error> {
        self.pump.ask(&mut self.files, kernels, event)
    }

    /// The pager's answer to a request, if it has one.
    pub(crate) fn take_answer(&mut self, request: RequestId) -> Option<Result<Success, Error>> {
        self.pump.take_answer(request)
    }

    /// Whether an event since the last call may have ended the wait of a task.
    pub(crate) fn take_woken(&mut self) -> bool {
        self.pump.take_woken()
    }

    /// Lets the card work until it reports events, at most until `deadline`.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn turn(
        &mut self,
        kernels: &mut Kernels,
        deadline: Option<Picoseconds>,
    ) -> Result<(), Error> {
        self.pump.turn(&mut self.files, kernels, deadline)
    }

    /// Processes events, in order. Returns false if the clock waits for the bytes of a file that are due and missing.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn handle_events(&mut self, kernels: &mut Kernels) -> Result<bool, Error> {
        self.pump.handle_events(&mut self.files, kernels)
    }

    /// Handles the end of work on another thread.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn aside_done(
        &mut self,
        kernels: &mut Kernels,
        tasks: &mut Tasks,
        aside: Aside,
    ) -> Result<(), Error> {
        self.pump.aside_done(&mut self.files, kernels, tasks, aside)
    }

    /// Whether no further event can occur unless a client acts.
    pub(crate) fn is_quiet(&mut self, kernels: &mut Kernels) -> bool {
        self.pump.is_quiet(kernels)
    }

    /// Fails the waits for abandoned transfers.
    pub(crate) fn fail_abandoned(&mut self, kernels: &mut Kernels, tasks: &mut Tasks) {
        self.pump.fail_abandoned(kernels, tasks);
    }

    /// Records that these faults are answered.
    pub(crate) fn faults_answered(
        &mut self,
        kernels: &mut Kernels,
        answered: impl Fn(FaultToken) -> bool,
    ) {
        self.pump.faults_answered(kernels, answered);
    }

    /// After a slot was put in reset: drops its faults in flight, and lets every reply that was sent reach the shell.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn drain(
        &mut self,
        kernels: &mut Kernels,
        slot: SlotId,
        space: Asid,
        requesters: RangeInclusive<u8>,
    ) -> Result<(), Error> {
        self.pump.drain(kernels, slot, space, requesters)
    }

    /// Starts the time of a slot's reconfiguration.
    pub(crate) fn begin_reconfiguration(&mut self, kernels: &mut Kernels, slot: SlotId) {
        self.pump.begin_reconfiguration(kernels, slot);
    }

    /// Asks the card to report when it has executed everything now in the space's queue.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn await_entries(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
    ) -> Result<(), Error> {
        self.pump.await_entries(kernels, space)
    }

    /// Adds a client's space to its share, and to the client's counts.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn joins_share(
        &mut self,
        kernels: &mut Kernels,
        client: ClientId,
        share: ServiceShare,
        asid: Asid,
    ) -> Result<(), Error> {
        self.service().clients.begin(asid, client);
        self.pump.join_share(&mut self.files, kernels, share, asid)
    }

    /// Placement of the pages of a space that requests this placement.
    pub(crate) fn placement(&self, kernels: &Kernels, asked: SpacePlacement) -> SpacePlacement {
        placement(kernels.description(), &self.options, self.pager(), asked)
    }

    /// Takes a number for a new space with this translation mode.
    ///
    /// # Errors
    /// The card does not support the mode, or has no free space.
    pub(crate) fn take_space(
        &mut self,
        kernels: &mut Kernels,
        mode: TranslationMode,
    ) -> Result<Asid, Error> {
        self.spaces.begin(&mut self.pump, kernels.card(), mode)
    }

    /// Frees the number of a space that has ended, or was not created.
    pub(crate) fn free_space(&mut self, asid: Asid) {
        self.spaces.free(&mut self.pump, asid);
    }

    /// The source of a mapping's bytes: a file, or a backing device.
    ///
    /// # Errors
    /// The system does not identify the file, or the backing cannot start.
    pub(crate) fn source(
        &mut self,
        post: &Post,
        file: File,
        backing: Option<Box<dyn BackingSource>>,
        label: String,
    ) -> Result<Source, Error> {
        match backing {
            None => self.pump.lanes().source(file, label),
            Some(backing) => self.files.stubs().source(post, file, backing, label),
        }
    }

    /// Claims a whole range; or returns the violated rule.
    pub(crate) fn begin_claim(&mut self, view: View) -> Result<Locking, String> {
        self.files.begin_claim(self.pump.lanes(), view)
    }

    /// Begins to empty a file that is to be created anew.
    pub(crate) fn empty_if_fresh(
        &mut self,
        tasks: &mut Tasks,
        view: View,
        label: &str,
        options: MapOptions,
    ) -> Option<Result<InLane<io::Result<()>>, Error>> {
        let lanes = self.pump.lanes();
        self.files
            .empty_if_fresh(lanes, tasks, view, label, options)
    }

    /// Maps a range of a file; returns its address and page size.
    pub(crate) fn map(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
        wanted: Wanted<'_>,
    ) -> Result<(VirtAddr, PageSize), Error> {
        let space = (space, self.spaces.translation(space));
        self.files.map(&mut self.pump, kernels, space, wanted)
    }

    /// Records the holes of a range, for a mapping with that option.
    pub(crate) fn has_holes(&mut self, view: View, holes: Vec<Range<u64>>) {
        self.pump.transfers_mut().has_holes(&holes);
        self.files.has_holes(view, holes);
    }

    /// Handles the close of a range's object by the pager; `saved` if it succeeded. Returns whether the object is gone.
    pub(crate) fn close_object(
        &mut self,
        kernels: &mut Kernels,
        view: View,
        object: ObjectId,
        saved: bool,
    ) -> bool {
        let pager = self.pump.pager();
        self.files.close_object(pager, kernels, view, object, saved)
    }

    /// Whether the pager has no object left of a file that was abandoned at its close.
    pub(crate) fn given_up_has_left(&self, identity: Identity) -> bool {
        self.files.given_up_has_left(self.pager(), identity)
    }

    /// Drops objects that were abandoned at their close and have gone since.
    pub(crate) fn forget_given_up(&mut self, kernels: &mut Kernels) -> Vec<View> {
        self.files.forget_given_up(self.pump.pager(), kernels)
    }

    /// Files with a writable mapping in a range.
    pub(crate) fn mapped_in(&self, space: Asid, address: VirtAddr, bytes: u64) -> Vec<Durable> {
        self.files.mapped_in(space, address, bytes)
    }

    /// The out-of-range writes of kernels around a writable range, as an error; each is reported once.
    ///
    /// # Errors
    /// There was one.
    pub(crate) fn take_outside(
        &mut self,
        space: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        self.files.take_outside(space, address, bytes)
    }

    /// Drops the mappings of a space (in a range); returns the files that may be closed.
    pub(crate) fn forget_mappings(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        self.pump.service_mut().end_pressure(space, range);
        self.files.forget_mappings(space, range)
    }

    /// Forgets the paging of a file.
    pub(crate) fn forget_paging(&mut self, label: &str) {
        self.files.forget_paging(label);
    }

    /// A stream has accepted its data, or has failed: the faults held back for it are queued.
    pub(crate) fn flushed(&mut self, stream: StreamPlace) {
        self.pump.service_mut().flushed(stream);
    }

    /// Applies advice to some bytes of a mapping.
    pub(crate) fn advise_mapping(
        &mut self,
        kernels: &mut Kernels,
        range: MappedRange,
        part: ByteRange,
        advice: Advice,
    ) -> Result<(), Error> {
        let bytes = part.bytes;
        let address = VirtAddr::truncated(range.address.get().saturating_add(part.offset));
        if !part.is_within(range.bytes) {
            return Err(Error::Pager(PagerError::NotMapped {
                asid: range.asid,
                address,
                bytes,
            }));
        }
        self.pump
            .ask_now(&mut self.files, kernels, |request| Event::Advise {
                request,
                asid: range.asid,
                address,
                bytes,
                advice,
            })?;
        self.files.advised(range.asid, (address, bytes), advice);
        if advice.reuse == Some(Reuse::Low) {
            let (files, pump) = (&mut self.files, &mut self.pump);
            leave_in_host(files, pump, kernels, range.asid, (address, bytes))?;
        }
        Ok(())
    }

    /// Fetches pages before they are accessed.
    pub(crate) fn prefetch(
        &mut self,
        kernels: &mut Kernels,
        range: MappedRange,
    ) -> Result<(), Error> {
        self.tell(
            kernels,
            Event::Prefetch {
                asid: range.asid,
                address: range.address,
                bytes: range.bytes,
            },
        )
    }

    /// Begins to give the program read, or also write, access to a range. Returns the requests to wait for.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn begin_to_take(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
        range: &Range<u64>,
        write: bool,
    ) -> Result<Vec<RequestId>, Error> {
        let pages = self.pump.memories().pages_in(space, range);
        let pages = pages.into_iter().map(|(object, offset)| {
            self.ask(kernels, |request| Event::HostTrap {
                request,
                object,
                offset,
                write,
            })
        });
        pages.collect()
    }

    /// Starts the latency from an access to its service thread, if there is any.
    pub(crate) fn begin_trap_time(&mut self, kernels: &mut Kernels) -> Option<WorkId> {
        self.pump.begin_trap_time(kernels)
    }

    /// Whether work of the host is over.
    pub(crate) fn is_over(&self, work: WorkId) -> bool {
        self.pump.is_over(work)
    }

    /// Serves a trapped access. Returns the request to wait for, the block, and an immediate error. `None`: the sharing
    /// has just ended, and the memory is open.
    pub(crate) fn trapped(
        &mut self,
        kernels: &mut Kernels,
        access: ProgramAccess,
        ticket: Ticket,
        guest: Option<Guest>,
    ) -> Option<(RequestId, ObjectId, Result<(), Error>)> {
        let files = &mut self.files;
        self.pump.trapped(files, kernels, access, ticket, guest)
    }

    /// Serves a trapped access of a program in another process to a block in one of these spaces. `None`: there is none,
    /// or the access is beyond it.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn trapped_elsewhere(
        &mut self,
        kernels: &mut Kernels,
        spaces: &[Asid],
        trap: &ServeTrap,
    ) -> Result<Option<TrapElsewhere>, Error> {
        let files = &mut self.files;
        self.pump.trapped_elsewhere(files, kernels, spaces, trap)
    }

    /// Registers the parts of a block with the pager.
    ///
    /// # Errors
    /// The card cannot reach the memory.
    pub(crate) fn new_memory(
        &mut self,
        kernels: &mut Kernels,
        asid: Asid,
        view: &Arc<SharedView>,
    ) -> Result<Vec<ObjectId>, Error> {
        let host = kernels.card().map_host(view.alias().clone())?;
        let objects = view.parts().iter().map(|part| {
            let object = self.files.new_object();
            let part = part.clone();
            let memories = self.pump.memories_mut();
            memories.add(object, asid, view, BlockPart { part, host });
            object
        });
        Ok(objects.collect())
    }

    /// Maps a part of a block; returns its address and its size in bytes.
    ///
    /// # Errors
    /// The pager refuses it.
    pub(crate) fn map_memory(
        &mut self,
        kernels: &mut Kernels,
        object: ObjectId,
        direct: bool,
    ) -> Result<(VirtAddr, u64), Error> {
        let (files, pump) = (&mut self.files, &mut self.pump);
        let part = pump.memories().shared_part(object)?;
        let bytes = part.bytes;
        pump.ask_now(files, kernels, |request| Event::CreateObject {
            request,
            object,
            offset: 0,
            bytes,
            kind: ObjectKind::Host { memory: part.host },
            page_size: Some(part.page),
        })?;
        if direct {
            keep_in_host(files, pump, kernels, object, &part)?;
        }
        let mapped = pump.ask_now(files, kernels, |request| Event::Map {
            request,
            asid: part.asid,
            address: Some(part.address),
            object,
            offset: 0,
            bytes,
            read: true,
            write: true,
        })?;
        match mapped {
            Success::Mapped(_) => Ok((part.address, bytes)),
            Success::Done => Err(Error::Internal("a mapping without an address".into())),
        }
    }
}
