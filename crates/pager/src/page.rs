//! The life of a page: from the first fault to the return of its frame.

use crate::buffer::Part;
use crate::ids::RequestId;
use crate::keep::Keep;
use crate::piece::{Filling, Saving};
use crate::queue::Urgency;
use units::{
    Asid, CardAddr, CommandStatus, FaultToken, FrameNumber, HostAddr, PageSize, Stripe, Target,
    VirtAddr,
};

/// Why a page is written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Sync: the page stays.
    Clean,
    /// Eviction, unmapping or closing: the page leaves, and its frame is free afterwards.
    Release,
}

/// How far a write-back is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Entries are being protected or invalidated; the card drains what was under way.
    Draining,
    /// Dirty; no DMA buffer is free yet.
    AwaitingBuffer,
    /// From the frame to the buffer; all but the last piece of a page that is larger than a buffer from
    /// there to the object as well. Nobody can write the frame meanwhile.
    CopyingOut(Part),
    /// From the buffer to the object.
    Writing(Part),
    /// Shared memory: from the frame to host memory. Nobody can write either meanwhile.
    Returning,
    /// Shared memory: host memory is complete; programs are being let in again.
    Yielding,
    /// Direct: from its place in host memory to the object. Nobody can write the place meanwhile.
    Saving,
}

/// Where a page is in its life. `docs/blocks/pager.md` has the diagram; [`State::may_become`] is the
/// same as a table. A page without record is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Wanted; no frame yet.
    Waiting,
    /// Has a frame; no DMA buffer is free yet.
    AwaitingBuffer,
    /// Has a frame, which is zeroed when less is.
    AwaitingZero,
    /// Shared memory: has a frame; programs are being kept from writing (or from touching) the page.
    Claiming,
    /// From the object to the buffer; all but the last piece of a page that is larger than a buffer from
    /// there to the frame as well.
    Reading(Part),
    /// Direct: from the object to its place in host memory.
    Fetching,
    /// From the buffer (or as zeroes) to the frame.
    Loading {
        /// The buffer, unless the page is zeroed.
        part: Option<Part>,
        /// Commands without answer.
        left: u8,
        /// The first failure.
        failed: Option<CommandStatus>,
    },
    /// The entries are in the command ring, behind the data (`InstallOrder::Fenced`).
    Installing {
        /// The buffer, unless the page is zeroed.
        part: Option<Part>,
    },
    /// The frame holds the page's data.
    Resident,
    /// Shared memory: the frame holds the data, and the card is to write it; programs are being kept from
    /// reading the page.
    Upgrading,
    /// Dirty data goes back to the object.
    WritingBack {
        /// Why.
        purpose: Purpose,
        /// How far.
        stage: Stage,
    },
}

impl State {
    /// The legal transitions, except to absent.
    pub fn may_become(self, next: Self) -> bool {
        use State::*;
        match (self, next) {
            (
                Waiting,
                AwaitingBuffer
                | AwaitingZero
                | Claiming
                | Fetching
                | Loading { .. }
                | Installing { .. },
            )
            | (AwaitingZero, Loading { .. } | Installing { .. })
            | (Fetching, Resident)
            | (AwaitingBuffer, Reading(_))
            | (Claiming, Loading { .. } | Installing { .. })
            | (Resident, Upgrading)
            | (Upgrading, Resident)
            | (Reading(_), Loading { .. } | Installing { .. })
            | (Loading { .. }, Loading { .. } | Resident)
            | (Installing { .. }, Resident) => true,
            (Resident, WritingBack { stage, .. }) => stage == Stage::Draining,
            // The copy to the card failed.
            (Loading { .. }, WritingBack { purpose, stage }) => {
                (purpose, stage) == (Purpose::Release, Stage::Yielding)
            }
            (
                WritingBack { purpose, stage },
                WritingBack {
                    purpose: next_purpose,
                    stage: next_stage,
                },
            ) => {
                purpose == next_purpose
                    && matches!(
                        (stage, next_stage),
                        (Stage::Draining, Stage::AwaitingBuffer)
                            | (Stage::AwaitingBuffer, Stage::CopyingOut(_))
                            | (Stage::CopyingOut(_), Stage::Writing(_))
                            | (
                                Stage::Draining,
                                Stage::Returning | Stage::Yielding | Stage::Saving
                            )
                            | (Stage::Returning, Stage::Yielding)
                    )
            }
            // Clean after all, or saved, or refused.
            (WritingBack { purpose, stage }, Resident) => match stage {
                Stage::Draining => purpose == Purpose::Clean,
                Stage::AwaitingBuffer => false,
                Stage::CopyingOut(_) | Stage::Writing(_) | Stage::Returning | Stage::Saving => true,
                Stage::Yielding => purpose == Purpose::Clean,
            },
            // Somebody wants the page again that has just been released. (Nobody can, of an object that is thrown
            // away.)
            (WritingBack { stage, .. }, Waiting) => {
                self.may_end() && !matches!(stage, Stage::CopyingOut(_))
            }
            _ => false,
        }
    }

    /// The page may be absent next.
    pub fn may_end(self) -> bool {
        matches!(
            self,
            Self::Waiting
                | Self::Claiming
                | Self::Reading(_)
                | Self::Fetching
                | Self::Loading { .. }
                | Self::WritingBack {
                    purpose: Purpose::Release,
                    // A failed copy of what is discarded anyway is as good as none.
                    stage: Stage::Draining
                        | Stage::CopyingOut(_)
                        | Stage::Writing(_)
                        | Stage::Saving
                        | Stage::Yielding,
                }
        )
    }

    /// Entries may be installed: the frame holds the data, and nobody relies on it being unwritten.
    pub fn serves(self) -> bool {
        matches!(
            self,
            Self::Installing { .. }
                | Self::Resident
                | Self::WritingBack {
                    purpose: Purpose::Clean,
                    stage: Stage::Writing(_),
                }
        )
    }

    /// The buffer in use.
    pub fn part(self) -> Option<Part> {
        match self {
            Self::Reading(part)
            | Self::WritingBack {
                stage: Stage::CopyingOut(part) | Stage::Writing(part),
                ..
            } => Some(part),
            Self::Loading { part, .. } | Self::Installing { part } => part,
            _ => None,
        }
    }
}

/// Somebody who wants the page in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Waiter {
    pub(crate) asid: Asid,
    /// First address of the page in that space.
    pub(crate) address: VirtAddr,
    pub(crate) wish: Wish,
}

/// What somebody wants of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    /// An access waits.
    Access(Access),
    /// The page shall be installed before it is touched.
    Install,
    /// The page shall be on the card, but not installed: its first access is to be seen.
    Load,
}

/// An access of a kernel that is parked in the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    pub(crate) token: FaultToken,
    pub(crate) address: VirtAddr,
    pub(crate) write: bool,
}

impl Waiter {
    /// The access that waits.
    pub(crate) fn access(&self) -> Option<Access> {
        match self.wish {
            Wish::Access(access) => Some(access),
            Wish::Install | Wish::Load => None,
        }
    }

    pub(crate) fn writes(&self) -> bool {
        self.access().is_some_and(|access| access.write)
    }
}

/// A page-table entry that shows the page: the reverse list of mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) asid: Asid,
    pub(crate) address: VirtAddr,
    pub(crate) write: bool,
}

/// A page that is wanted or on the card.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Page {
    pub(crate) state: State,
    /// That of its object.
    pub(crate) size: PageSize,
    pub(crate) frame: Option<FrameNumber>,
    /// Its place in host memory, if it stays there: instead of a frame.
    pub(crate) direct: Option<HostAddr>,
    /// Bytes that earlier pieces of the fill or write-back under way have moved.
    pub(crate) moved: u64,
    /// What of a fill in pieces is under way.
    pub(crate) filling: Filling,
    /// What of a write-back in pieces is under way.
    pub(crate) saving: Saving,
    /// The space whose quota the frame counts against.
    pub(crate) charged: Option<Asid>,
    /// How the frame is striped.
    pub(crate) stripe: Stripe,
    /// The card alone may touch the page, so it may write. False only for a page of host memory that
    /// programs may read as well.
    pub(crate) exclusive: bool,
    /// Entries, as the commands issued so far leave them.
    pub(crate) entries: Vec<Entry>,
    /// Invalidate and Protect commands whose report is outstanding. Until it is zero, accesses may
    /// be under way that `entries` no longer shows.
    pub(crate) unreported: u32,
    /// ReadClear commands whose report is outstanding.
    pub(crate) examining: u32,
    /// One of them reported an access.
    pub(crate) accessed: bool,
    /// The frame differs from the object, as far as reports and replies say. Entries that may be
    /// written can know more.
    pub(crate) dirty: bool,
    /// It was cleaned ahead since it came.
    pub(crate) cleaned: bool,
    /// The last write-back failed: eviction leaves the page alone until there is no other.
    pub(crate) unsaved: bool,
    /// What was written to it is dropped when it leaves next.
    pub(crate) drop_dirty: bool,
    /// What was advised of its stay.
    pub(crate) keep: Keep,
    pub(crate) waiters: Vec<Waiter>,
    /// The most urgent of those who have waited since it was last resident.
    pub(crate) urgency: Urgency,
    /// Requests that end with the write-back that is under way.
    pub(crate) joined: Vec<RequestId>,
    /// Requests that need a write-back that begins after now.
    pub(crate) wanted: Vec<RequestId>,
    /// Requests that end when the page has left, or is found to be used by others.
    pub(crate) leaving: Vec<RequestId>,
    /// Writes of programs to host memory, and refreshes of files: they end when the card has no copy.
    pub(crate) returning: Vec<RequestId>,
}

impl Page {
    pub(crate) fn wanted_by(waiter: Waiter, urgency: Urgency, size: PageSize) -> Self {
        moved(None, Some(State::Waiting));
        Self {
            state: State::Waiting,
            size,
            frame: None,
            direct: None,
            moved: 0,
            filling: Filling::default(),
            saving: Saving::default(),
            charged: None,
            stripe: Stripe::NONE,
            exclusive: true,
            entries: Vec::new(),
            unreported: 0,
            examining: 0,
            accessed: false,
            dirty: false,
            cleaned: false,
            unsaved: false,
            drop_dirty: false,
            keep: Keep::default(),
            waiters: vec![waiter],
            urgency,
            joined: Vec::new(),
            wanted: Vec::new(),
            leaving: Vec::new(),
            returning: Vec::new(),
        }
    }

    /// A kernel has written it, or could without a fault.
    pub(crate) fn may_be_written(&self) -> bool {
        self.dirty || self.entries.iter().any(|entry| entry.write)
    }

    /// Moves on in life.
    pub(crate) fn enter(&mut self, next: State) {
        debug_assert!(
            self.state.may_become(next),
            "a page cannot go from {:?} to {next:?}",
            self.state
        );
        moved(Some(self.state), Some(next));
        self.state = next;
    }

    /// The record ends.
    pub(crate) fn end(self) {
        debug_assert!(
            self.state.may_end() && !self.has_place(),
            "{self:?} forgotten"
        );
        moved(Some(self.state), None);
    }

    /// Its data has a place: a frame, or one in host memory.
    pub(crate) fn has_place(&self) -> bool {
        self.frame.is_some() || self.direct.is_some()
    }

    /// What its entries name.
    pub(crate) fn target(&self) -> Option<(FrameNumber, Target)> {
        match self.direct {
            None => Some((self.frame?, Target::Card)),
            Some(host) => {
                let frame = FrameNumber::at(CardAddr::new(host.get())?)?;
                Some((frame, Target::Host))
            }
        }
    }

    /// A place in the frame.
    pub(crate) fn place(&self, at: u64) -> Option<CardAddr> {
        CardAddr::new(self.frame?.card_address().get() + at)
    }

    pub(crate) fn entry(&self, asid: Asid, address: VirtAddr) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.asid == asid && entry.address == address)
    }

    /// An access of a space would find it without the host, or it is on its way for that.
    pub(crate) fn is_ready_for(&self, asid: Asid, address: VirtAddr, write: bool) -> bool {
        let shows = |of: Asid, at: VirtAddr| of == asid && at == address.page_base(self.size);
        let has_entry = |entry: &Entry| shows(entry.asid, entry.address) && entry.write >= write;
        let comes = |waiter: &Waiter| shows(waiter.asid, waiter.address);
        self.entries.iter().any(has_entry) || self.waiters.iter().any(comes)
    }

    /// Somebody wants an entry or an answer, and not just its data on the card.
    pub(crate) fn wants_entry(&self) -> bool {
        self.waiters.iter().any(|waiter| waiter.wish != Wish::Load)
    }

    /// A waiter has to wait for the right to write, although the data is there.
    pub(crate) fn awaits_upgrade(&self, waiter: &Waiter) -> bool {
        waiter.writes() && !self.exclusive
    }

    /// Nobody stands still for it.
    pub(crate) fn is_hint(&self) -> bool {
        self.waiters.iter().all(|waiter| waiter.access().is_none())
    }
}

/// Tells tests that count the moves of pages; `None` is absent.
#[cfg(feature = "testing")]
fn moved(from: Option<State>, to: Option<State>) {
    crate::testing::explore::moved(from, to);
}

#[cfg(not(feature = "testing"))]
const fn moved(_from: Option<State>, _to: Option<State>) {}
