//! The life of a page: from the first fault to the release of its frame.

use crate::buffer::Part;
use crate::ids::RequestId;
use crate::keep::Keep;
use crate::piece::{Filling, Saving};
use crate::queue::Urgency;
use units::{
    Asid, CardAddr, CommandStatus, FaultToken, FrameNumber, HostAddr, PageSize, Stripe, Target,
    VirtAddr,
};

/// Purpose of a write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Sync: the page stays.
    Clean,
    /// Eviction, unmapping or closing: the page leaves, and its frame is freed.
    Release,
}

/// Stage of a write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Entries are being protected or invalidated; the card drains accesses under way.
    Draining,
    /// Dirty; waits for a DMA buffer.
    AwaitingBuffer,
    /// Copying from the frame to the buffer; if the page is larger than a buffer, all pieces but the last also go to
    /// the object. The frame cannot be written meanwhile.
    CopyingOut(Part),
    /// Writing from the buffer to the object.
    Writing(Part),
    /// Shared memory: copying from the frame to host memory. Neither can be written meanwhile.
    Returning,
    /// Shared memory: host memory is complete; programs are being given access again.
    Yielding,
    /// Direct: writing from its place in host memory to the object. The place cannot be written meanwhile.
    Saving,
}

/// State of a page. `docs/blocks/pager.md` has the diagram; [`State::may_become`] is the same as a table. A page
/// without record is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Requested; waits for a frame.
    Waiting,
    /// Has a frame; waits for a DMA buffer.
    AwaitingBuffer,
    /// Has a frame, which is zeroed once fewer others are being zeroed.
    AwaitingZero,
    /// Shared memory: has a frame; programs are losing the right to write (or to access) the page.
    Claiming,
    /// Reading from the object to the buffer; if the page is larger than a buffer, all pieces but the last also go to
    /// the frame.
    Reading(Part),
    /// Direct: reading from the object to its place in host memory.
    Fetching,
    /// Copying from the buffer (or zeroing) to the frame.
    Loading {
        /// The buffer, unless the page is zeroed.
        part: Option<Part>,
        /// Number of outstanding commands.
        left: u8,
        /// Status of the first failed command.
        failed: Option<CommandStatus>,
    },
    /// The entries are in the command ring, behind the data (`InstallOrder::Fenced`).
    Installing {
        /// The buffer, unless the page is zeroed.
        part: Option<Part>,
    },
    /// The frame holds the page's data.
    Resident,
    /// Shared memory: the frame holds the data and is about to become writable; programs are losing the right to read
    /// the page.
    Upgrading,
    /// Dirty data is being written back to the object.
    WritingBack {
        /// Purpose of the write-back.
        purpose: Purpose,
        /// Stage of the write-back.
        stage: Stage,
    },
}

impl State {
    /// Whether the transition is legal; absent is not covered.
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
            // A page was requested again after its release. (Not possible for an object that is being discarded.)
            (WritingBack { stage, .. }, Waiting) => {
                self.may_end() && !matches!(stage, Stage::CopyingOut(_))
            }
            _ => false,
        }
    }

    /// Whether the page may be absent next.
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
                    // If the page is discarded, a failed copy does not matter.
                    stage: Stage::Draining
                        | Stage::CopyingOut(_)
                        | Stage::Writing(_)
                        | Stage::Saving
                        | Stage::Yielding,
                }
        )
    }

    /// Whether entries may be installed: the frame holds the data, and no copy in progress relies on it being
    /// unwritten.
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

/// A requester of a page in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Waiter {
    pub(crate) asid: Asid,
    /// First address of the page in that space.
    pub(crate) address: VirtAddr,
    pub(crate) wish: Wish,
}

/// Kind of a request for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    /// A kernel access that is parked.
    Access(Access),
    /// Install the page before it is accessed.
    Install,
    /// Bring the page to the card without installing it: its first access is to be seen.
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

/// A page-table entry that refers to the page: the reverse list of mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) asid: Asid,
    pub(crate) address: VirtAddr,
    pub(crate) write: bool,
}

/// Place of a page's data, and the space that it counts against.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Place {
    pub(crate) frame: Option<FrameNumber>,
    /// Address in host memory, if it stays there, instead of a frame.
    pub(crate) direct: Option<HostAddr>,
    /// The space whose limit the frame counts against.
    pub(crate) charged: Option<Asid>,
    /// The space that requested data that stays in host memory.
    pub(crate) requested: Option<Asid>,
    /// Striping of the frame.
    pub(crate) stripe: Stripe,
}

/// Progress of the fill or write-back under way.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Progress {
    /// Bytes that earlier pieces have moved.
    pub(crate) moved: u64,
    /// State of a fill in pieces.
    pub(crate) filling: Filling,
    /// State of a write-back in pieces.
    pub(crate) saving: Saving,
}

/// Page-table entries that refer to a page, and the reports that the card owes about them.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Entries {
    /// Entries, as the commands issued so far leave them.
    pub(crate) list: Vec<Entry>,
    /// Invalidate and Protect commands with an outstanding report. Until it is zero, accesses may be under way through
    /// entries that `list` no longer contains.
    pub(crate) unreported: u32,
    /// ReadClear commands with an outstanding report.
    pub(crate) examining: u32,
    /// One of them reported an access.
    pub(crate) accessed: bool,
}

/// Relation of a page's data to its object.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Content {
    /// The frame differs from the object, according to reports and replies so far. Writable entries may have a dirty
    /// bit that is not reported yet.
    pub(crate) dirty: bool,
    /// The page was cleaned ahead during this residency.
    pub(crate) cleaned: bool,
    /// The last write-back failed: eviction avoids the page while there are others.
    pub(crate) unsaved: bool,
    /// Stores to the page are dropped when it leaves next.
    pub(crate) drop_dirty: bool,
}

/// Requests of clients that wait for a page.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct PageRequests {
    /// They complete with the write-back under way.
    pub(crate) joined: Vec<RequestId>,
    /// They need a write-back that begins after now.
    pub(crate) wanted: Vec<RequestId>,
    /// They complete when the page has left, or is found to be used by others.
    pub(crate) leaving: Vec<RequestId>,
    /// Writes of programs to host memory, and refreshes of files: they complete when the card has no copy.
    pub(crate) returning: Vec<RequestId>,
}

impl PageRequests {
    /// Whether no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().all(Vec::is_empty)
    }

    /// Each kind of request.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Vec<RequestId>> {
        [&self.joined, &self.wanted, &self.leaving, &self.returning].into_iter()
    }

    /// Removes all requests, in the order in which they complete when the page is gone.
    pub(crate) fn take(&mut self) -> Vec<RequestId> {
        let mut all = std::mem::take(&mut self.joined);
        all.append(&mut self.wanted);
        all.append(&mut self.leaving);
        all.append(&mut self.returning);
        all
    }
}

/// A page that is requested or on the card.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Page {
    state: State,
    /// Page size, one of its object's.
    pub(crate) size: PageSize,
    pub(crate) place: Place,
    pub(crate) progress: Progress,
    pub(crate) entries: Entries,
    pub(crate) content: Content,
    /// Only the card may access the page, so kernels may write. False only for a page of host memory that programs may
    /// read as well.
    pub(crate) exclusive: bool,
    /// Retention advice.
    pub(crate) keep: Keep,
    pub(crate) waiters: Vec<Waiter>,
    /// Most urgent request since it was last resident.
    pub(crate) urgency: Urgency,
    pub(crate) requests: PageRequests,
}

impl Page {
    pub(crate) fn wanted_by(waiter: Waiter, urgency: Urgency, size: PageSize) -> Self {
        moved(None, Some(State::Waiting));
        Self {
            state: State::Waiting,
            size,
            place: Place {
                frame: None,
                direct: None,
                charged: None,
                requested: None,
                stripe: Stripe::NONE,
            },
            progress: Progress::default(),
            entries: Entries::default(),
            content: Content::default(),
            exclusive: true,
            keep: Keep::default(),
            waiters: vec![waiter],
            urgency,
            requests: PageRequests::default(),
        }
    }

    /// State of the page; [`Page::enter`] changes it.
    pub(crate) const fn state(&self) -> State {
        self.state
    }

    /// Begins the residency that follows from now: its retention advice, and no stores to drop.
    pub(crate) fn begin_residency(&mut self, keep: Keep) {
        self.keep = keep;
        self.content.drop_dirty = false;
        self.progress.moved = 0;
    }

    /// The data is in its place. Returns whether that is in card memory.
    pub(crate) fn become_resident(&mut self) -> bool {
        self.enter(State::Resident);
        self.urgency = Urgency::Hint;
        self.progress.moved = 0;
        self.place.direct.is_none()
    }

    /// Whether a request or an access needs the write-back under way.
    pub(crate) fn is_awaited(&self) -> bool {
        !(self.requests.joined.is_empty()
            && self.requests.leaving.is_empty()
            && self.waiters.is_empty())
    }

    /// Whether a kernel has written it, or could write it without a fault.
    pub(crate) fn may_be_written(&self) -> bool {
        self.content.dirty || self.entries.list.iter().any(|entry| entry.write)
    }

    /// Enters the next state.
    pub(crate) fn enter(&mut self, next: State) {
        debug_assert!(
            self.state.may_become(next),
            "a page cannot go from {:?} to {next:?}",
            self.state
        );
        moved(Some(self.state), Some(next));
        self.state = next;
    }

    /// Ends the record.
    pub(crate) fn end(self) {
        debug_assert!(
            self.state.may_end() && !self.has_place(),
            "{self:?} forgotten"
        );
        moved(Some(self.state), None);
    }

    /// Whether its data has a place: a frame, or one in host memory.
    pub(crate) fn has_place(&self) -> bool {
        self.place.frame.is_some() || self.place.direct.is_some()
    }

    /// Frame and memory that its entries refer to.
    pub(crate) fn target(&self) -> Option<(FrameNumber, Target)> {
        match self.place.direct {
            None => Some((self.place.frame?, Target::Card)),
            Some(host) => {
                let frame = FrameNumber::at(CardAddr::new(host.get())?)?;
                Some((frame, Target::Host))
            }
        }
    }

    /// Card address of an offset in the frame.
    pub(crate) fn address_of(&self, at: u64) -> Option<CardAddr> {
        CardAddr::new(self.place.frame?.card_address().get() + at)
    }

    pub(crate) fn entry(&self, asid: Asid, address: VirtAddr) -> Option<&Entry> {
        self.entries
            .list
            .iter()
            .find(|entry| entry.asid == asid && entry.address == address)
    }

    /// Whether an access of a space would find it without the host, or the entry for it is in transit.
    pub(crate) fn is_ready_for(&self, asid: Asid, address: VirtAddr, write: bool) -> bool {
        let shows = |of: Asid, at: VirtAddr| of == asid && at == address.page_base(self.size);
        let has_entry = |entry: &Entry| shows(entry.asid, entry.address) && entry.write >= write;
        let comes = |waiter: &Waiter| shows(waiter.asid, waiter.address);
        self.entries.list.iter().any(has_entry) || self.waiters.iter().any(comes)
    }

    /// Whether a request needs an entry or a reply, and not only the data on the card.
    pub(crate) fn wants_entry(&self) -> bool {
        self.waiters.iter().any(|waiter| waiter.wish != Wish::Load)
    }

    /// Whether a waiter needs the right to write, although the data is resident.
    pub(crate) fn awaits_upgrade(&self, waiter: &Waiter) -> bool {
        waiter.writes() && !self.exclusive
    }

    /// Whether no requester is stalled on it.
    pub(crate) fn is_hint(&self) -> bool {
        self.waiters.iter().all(|waiter| waiter.access().is_none())
    }
}

/// Notifies tests that count the state transitions of pages; `None` is absent.
#[cfg(feature = "testing")]
fn moved(from: Option<State>, to: Option<State>) {
    crate::testing::explore::moved(from, to);
}

#[cfg(not(feature = "testing"))]
const fn moved(_from: Option<State>, _to: Option<State>) {}
