//! The environment of a pager under test: a card, a host, clients and kernels, all in random order.

use super::card::{Access, Card, HOST_WINDOW};
use super::host::{buffer_address, Host};
use super::model::Model;
use super::rng::Rng;
use super::{Scenario, Tally, Verdict, ROW};
use crate::action::{Action, DirectTransfer};
use crate::config::{ChannelMemory, Config, InstallOrder};
use crate::error::AccessError;
use crate::event::Event;
use crate::eviction::Eviction;
use crate::fetch::{Amounts, Chosen, OnDemand, ReadAhead};
use crate::ids::{ObjectId, ObjectPage};
use crate::pager::Pager;
use crate::placement::Striped;
use crate::policies::Policies;
use crate::size::{PageSizePolicy, SizeTouch};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{
    Asid, CardAddr, FaultToken, Fetch, Operation, PageSize, PageSizes, SpacePlacement,
    TableGeometry, VirtAddr,
};

/// log2 of the bytes of card addresses of a channel.
pub(super) const CHANNEL_BYTES_LOG2: u8 = 30;
/// Maximum events and actions in a failure report.
const TRACE: usize = 60;
/// Maximum steps until a model comes to rest.
const PATIENCE: usize = 2_000_000;

/// A line of the trace.
#[derive(Debug)]
enum Happened {
    Event(#[allow(dead_code)] Event),
    Action(#[allow(dead_code)] Action),
    Note(#[allow(dead_code)] String),
}

/// A pager under test with its environment.
pub(super) struct World {
    pub(super) pager: Pager,
    pub(super) card: Card,
    pub(super) host: Host,
    pub(super) model: Model,
    pub(super) rng: Rng,
    pub(super) scenario: Scenario,
    /// Whether explicit addresses fall into one set of the page table.
    pub(super) collide: bool,
    /// Whether some spaces have channels of their own.
    pub(super) placed: bool,
    /// Page sizes; the first is the default, and the smallest.
    pub(super) sizes: Vec<PageSize>,
    /// Whether pages of several sizes stay until they can be joined.
    pub(super) roomy: bool,
    pub(super) next_request: u64,
    pub(super) next_object: u64,
    pub(super) next_stamp: u64,
    free_at_first: u64,
    /// Whether write-backs move in pieces.
    in_pieces: bool,
    /// Pages of which some pieces were written, and others were not.
    half_saved: BTreeSet<ObjectPage>,
    answered: Vec<FaultToken>,
    /// Last address of each requester.
    pub(super) last: BTreeMap<usize, VirtAddr>,
    pub(super) tally: Tally,
    trace: VecDeque<Happened>,
}

/// Random page sizes among the allowed ones.
#[derive(Debug)]
struct AnySize(Rng);

impl PageSizePolicy for AnySize {
    fn touched(&mut self, touch: &SizeTouch) -> PageSize {
        let sizes: Vec<PageSize> = touch.sizes.iter().collect();
        self.0.pick(&sizes)
    }

    fn comes(&mut self, _requester: u8, _range: std::ops::Range<u64>) {}

    fn joins(&mut self, _size: PageSize, _fits: bool, _mapped: u64) -> bool {
        self.0.percent(50)
    }
}

/// ASID of a space.
pub(super) fn asid(number: usize) -> Asid {
    Asid::new((number & 15) as u8).unwrap_or_default()
}

impl World {
    pub(super) fn new(scenario: Scenario) -> Verdict<Self> {
        let mut rng = Rng::new(scenario.seed);
        let page_size = PageSize::from_class(rng.below(2) as u8).unwrap_or(PageSize::KIB_4);
        // Half of the models have pages of several sizes.
        let mut sizes = vec![page_size];
        if rng.percent(50) {
            for _ in 0..1 + rng.below(2) {
                let class = sizes[sizes.len() - 1].class() + 1 + rng.below(2) as u8;
                sizes.extend(PageSize::from_class(class));
            }
        }
        let largest = sizes[sizes.len() - 1];
        let collide = rng.percent(40);
        let most = if rng.percent(50) && !collide { 6 } else { 24 };
        let frames = 3 + rng.below(most) as u64;
        let grows = collide && rng.percent(50);
        // At least two of the largest frames per channel.
        let frames = (frames * page_size.bytes()).next_multiple_of(largest.bytes());
        let frames = frames.max(2 * largest.bytes());
        let roomy = sizes.len() > 1 && rng.percent(40);
        let frames = frames + if roomy { 6 * largest.bytes() } else { 0 };
        let tables = (if grows { 12 } else { 3 }) * (64u64 << 10);
        // Spaces with channels of their own need room for tables everywhere.
        let placed = rng.percent(30);
        let least = if placed { 2 } else { 1 };
        let channels: Vec<ChannelMemory> = (0..least + rng.below(3) as u64)
            .map(|channel| ChannelMemory {
                base: CardAddr::new(channel << CHANNEL_BYTES_LOG2).unwrap_or_default(),
                bytes: if channel == 0 || placed {
                    tables + frames
                } else {
                    frames
                },
            })
            .collect();
        let buffers = 1 + rng.below(4);
        let config = Config {
            page_size,
            page_sizes: PageSizes::ALL,
            channels: channels.clone(),
            channel_bytes_log2: CHANNEL_BYTES_LOG2,
            table_sets_log2: TableGeometry::MIN_SETS_LOG2,
            grow_percent: if grows { 0 } else { 25 },
            max_sets_log2: 12,
            buffers: (0..buffers).map(buffer_address).collect(),
            // Larger pages move in pieces, several smaller ones concurrently.
            buffer_bytes: rng.pick(&sizes).bytes() * (1 + rng.below(2) as u64),
            // A half of them in pieces, and some as a whole.
            piece_bytes: match rng.below(6) {
                0 => page_size.bytes(),
                1 => page_size.bytes() / 2,
                2 => 3 * ROW,
                _ => 0,
            },
            clean_ahead: rng.below(4) as u64,
            overlap: rng.percent(50),
            zeroed_ahead_bytes: page_size.bytes() * rng.below(3) as u64,
            install_order: if rng.percent(50) {
                InstallOrder::Fenced
            } else {
                InstallOrder::OnCompletion
            },
        };
        let queues = match config.install_order {
            InstallOrder::Fenced => 1,
            InstallOrder::OnCompletion => 1 + rng.below(4),
        };
        let mut policies = Policies {
            eviction: rng.pick(&Eviction::ALL).policy(),
            ..Policies::default()
        };
        if rng.percent(30) {
            policies.placement = Box::new(Striped);
        }
        policies.fetch = match rng.below(4) {
            0 => Box::new(ReadAhead::new(
                page_size.bytes() * (1 + rng.below(4) as u64),
            )),
            1 => Box::new(Chosen::new(
                Fetch::ReadAhead,
                Amounts {
                    ahead_bytes: page_size.bytes() * 64,
                    written_bytes: page_size.bytes() * rng.below(3) as u64,
                    first_window: rng.below(3) as u64,
                    batch_bytes: page_size.bytes() << rng.below(3),
                },
            )),
            doublings => Box::new(OnDemand {
                block_bytes: page_size.bytes() << (doublings - 1),
            }),
        };
        if rng.percent(50) {
            policies.size = Box::new(AnySize(Rng::new(rng.next())));
        }
        let requesters = (0..2 + rng.below(5))
            .map(|requester| asid(requester % 3))
            .collect();
        let mut pager =
            Pager::with_policies(config.clone(), policies).map_err(|e| e.to_string())?;
        pager.plant(scenario.sabotage);
        Ok(Self {
            free_at_first: pager.free_bytes(),
            pager,
            card: Card::new(&channels, &sizes, requesters, queues),
            host: Host::new(buffers, config.buffer_bytes),
            model: Model {
                sizes: BTreeMap::new(),
                spaces: BTreeMap::new(),
                objects: BTreeMap::new(),
                wishes: BTreeMap::new(),
            },
            rng,
            scenario,
            collide,
            placed,
            sizes,
            roomy,
            in_pieces: config.overlap && config.piece_bytes > 0,
            half_saved: BTreeSet::new(),
            next_request: 0,
            next_object: 0,
            next_stamp: 1,
            answered: Vec::new(),
            last: BTreeMap::new(),
            tally: Tally::default(),
            trace: VecDeque::new(),
        })
    }

    fn note(&mut self, happened: Happened) {
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(happened);
    }

    /// Recent events.
    pub(super) fn trace(&self) -> String {
        let lines: Vec<String> = self.trace.iter().map(|line| format!("{line:?}")).collect();
        lines.join("\n")
    }

    /// Runs random steps for a number of events, then closes everything and compares.
    pub(super) fn run(&mut self) -> Verdict<()> {
        self.furnish()?;
        while self.tally.events < self.scenario.events {
            self.step(true)?;
        }
        self.host.full = false;
        self.host.read_failures = 0;
        self.card.bus_failures = 0;
        self.rest("at rest")?;
        self.put_away()
    }

    /// Creates the initial spaces, objects and mappings.
    fn furnish(&mut self) -> Verdict<()> {
        for number in 0..3 {
            self.create_space(asid(number))?;
        }
        for _ in 0..4 {
            self.create_object()?;
        }
        self.rest("furnishing")?;
        for turn in 0..if self.collide { 45 } else { 9 } {
            self.map(asid(turn % 3))?;
        }
        Ok(())
    }

    /// One random step of any agent.
    fn step(&mut self, alive: bool) -> Verdict<bool> {
        let moved = match self.rng.below(100) {
            0..=10 if alive => self.kernel_issues(),
            11 if alive && self.rng.percent(50) => self.client_asks()?,
            12 if alive && self.rng.percent(50) => self.mishap()?,
            0..=24 => self.card.translate(&mut self.rng)?,
            25..=34 => self.card.leave(&mut self.rng),
            35..=46 => self.access_arrives()?,
            47..=56 => self.card.start_next(&mut self.rng)?,
            57..=68 => self.card.step_copy(&mut self.host, &mut self.rng)?,
            69..=78 => self.card.step_table()?,
            79..=90 => match self.card.events.pop_front() {
                Some(event) => self.tell(event).map(|()| true)?,
                None => false,
            },
            _ => self.io_ends()?,
        };
        self.card.release_requesters();
        Ok(moved)
    }

    fn io_ends(&mut self) -> Verdict<bool> {
        let Some(event) = self.host.end_one(&mut self.rng)? else {
            return Ok(false);
        };
        if let Some((object, offset)) = self.host.just_failed.take() {
            let (page, _) = self.model.page_of(object, offset);
            self.card.touched.insert(page);
        }
        self.tell(event)?;
        Ok(true)
    }

    /// Runs until nothing is under way.
    fn rest(&mut self, when: &str) -> Verdict<()> {
        for _ in 0..PATIENCE {
            if self.card.is_idle() && self.host.is_idle() && self.model.wishes.is_empty() {
                return match self.pager.is_idle() {
                    true => self.pager.check(),
                    false => Err(format!("the pager waits for nothing, {when}")),
                };
            }
            self.step(false)?;
        }
        Err(format!("stuck, {when}: {:?}", self.model.wishes))
    }

    /// Ends every space and object; nothing may be left, and storage must hold all data.
    fn put_away(&mut self) -> Verdict<()> {
        let spaces: Vec<Asid> = self.model.spaces.keys().copied().collect();
        for space in spaces {
            self.destroy_space(space)?;
            self.rest("destroying spaces")?;
        }
        let objects: Vec<ObjectId> = self.model.objects.keys().copied().collect();
        for object in objects {
            self.close_object(object, false)?;
            self.rest("closing objects")?;
        }
        let left = (
            self.pager.resident_pages(),
            self.pager.free_bytes(),
            self.model.objects.len(),
        );
        if left != (0, self.free_at_first, 0) {
            return Err(format!(
                "left behind: (pages, free frames, objects) {left:?}"
            ));
        }
        self.tally.statistics(self.pager.statistics());
        Ok(())
    }

    /// Passes an event to the pager and carries out its actions.
    pub(super) fn tell(&mut self, event: Event) -> Verdict<()> {
        self.tally.events += 1;
        self.note(Happened::Event(event));
        let mut actions = Vec::new();
        self.pager.handle(event, &mut actions);
        for action in actions {
            self.note(Happened::Action(action.clone()));
            self.carry_out(&action)?;
        }
        if let Some(token) = self.answered.pop() {
            return Err(format!("{token:?} was failed without telling why"));
        }
        if self.scenario.check {
            self.pager.check()?;
        }
        Ok(())
    }

    fn carry_out(&mut self, action: &Action) -> Verdict<()> {
        match action {
            Action::Command { operation, .. } => self.submit(action, operation),
            Action::ReadObject {
                bytes,
                buffer,
                buffer_offset,
                ..
            } => {
                let start = buffer_address(buffer.0 as usize).get() + buffer_offset;
                if self.card.reads_buffer(start, *bytes) {
                    return Err(format!("{action:?} overwrites what is being copied"));
                }
                self.host.begin(action, &mut self.rng)
            }
            Action::FillDirect { .. } => self.host.begin(action, &mut self.rng),
            Action::WriteObject {
                object,
                offset,
                bytes,
                ..
            }
            | Action::SaveDirect {
                transfer:
                    DirectTransfer {
                        object,
                        offset,
                        bytes,
                        ..
                    },
                ..
            } => {
                let (page, size) = self.model.page_of(*object, *offset);
                self.tally.writes += 1;
                // A page that is larger than a buffer is written in pieces.
                let start = self.host.starts.get(object).copied().unwrap_or_default();
                let later = *offset > start.max(page.index << size.bits());
                self.tally.pieces += u64::from(later);
                let end = (page.index + 1) << size.bits();
                let length = self.host.bytes.get(object).copied().unwrap_or_default();
                let mut touched = self.card.touched.remove(&page) | self.half_saved.remove(&page);
                // A copy of a later piece may fail, so that the whole page starts again; and concurrent pieces come in
                // any order.
                let later_ones = offset + bytes < end.min(length);
                if later_ones || self.in_pieces && *bytes < size.bytes() {
                    self.half_saved.insert(page);
                }
                if self.model.varies(*object) {
                    let last = (offset + bytes - 1) >> size.bits();
                    for index in page.index..=last {
                        let other = ObjectPage { index, ..page };
                        touched |= self.card.touched.remove(&other);
                    }
                    // A larger page may move in pieces, some of them unwritten, or move again.
                    let pieces =
                        self.in_pieces || self.host.buffer_bytes() < self.largest().bytes();
                    touched |= pieces || self.card.has_failed;
                }
                if !touched {
                    return Err(format!("{page:?} is written although nobody wrote it"));
                }
                self.host.begin(action, &mut self.rng)
            }
            Action::EnableSpace {
                asid,
                table,
                stripe,
                size_classes,
            } => self.card.enable(*asid, *table, (*stripe, *size_classes)),
            Action::UsePageSizes { asid, size_classes } => {
                self.card.use_sizes(*asid, *size_classes);
                Ok(())
            }
            Action::DisableSpace { asid } => self.card.disable(*asid),
            Action::Complete { request, result } => {
                self.tally.requests += 1;
                self.tally.requests_failed += u64::from(result.is_err());
                let failed = self.card.has_failed;
                self.model
                    .complete(*request, result, &mut self.host, failed)
            }
            Action::AccessFailed {
                token,
                asid,
                address,
                write,
                reason,
                ..
            } => {
                self.tally.accesses_failed += 1;
                let place = self.answered.iter().position(|answered| answered == token);
                match place {
                    Some(place) => self.answered.swap_remove(place),
                    None => return Err(format!("{token:?} was not failed, but told so")),
                };
                self.judge_failure(*asid, *address, *write, reason)
            }
            Action::ProtectHost { .. } => Err(format!("nobody shares memory here: {action:?}")),
            Action::WriteBackFailed { .. } => Ok(()),
            Action::CardFailed { .. } => Err("the card refused a command".into()),
        }
    }

    fn submit(&mut self, action: &Action, operation: &Operation) -> Verdict<()> {
        let mut shows = None;
        match operation {
            Operation::Install { asid, address, .. } => {
                shows = self.model.shows(*asid, address.get());
            }
            Operation::FaultReply { token, entry } => {
                let access = self.card.faulted(*token);
                // If a slot stops while the pager is informed of another one, it gets an answer without a waiter.
                let held = self.card.requesters[usize::from(token.requester)].held;
                if access.is_none() && !held {
                    return Err(format!("nobody waits: {operation:?}"));
                }
                shows = access.and_then(|a| self.model.shows(a.asid, a.address.get()));
                let writes = access.is_some_and(|access| access.write);
                match (entry, writes, shows) {
                    (None, ..) => self.answered.push(*token),
                    (Some(_), true, Some(page)) => {
                        self.card.touched.insert(page);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        self.card.submit(action, shows);
        Ok(())
    }

    fn judge_failure(
        &self,
        asid: Asid,
        address: VirtAddr,
        write: bool,
        reason: &AccessError,
    ) -> Verdict<()> {
        let live = self.model.live(asid, address.get());
        let fair = match reason {
            AccessError::NotMapped | AccessError::Unmapped => live.is_none(),
            AccessError::NotReadable => live.is_some_and(|piece| !piece.read && !write),
            AccessError::NotWritable => live.is_some_and(|piece| !piece.write && write),
            AccessError::Fetch(crate::PagerError::Io { object, offset, .. }) => {
                self.host.failed_reads.contains(&(*object, *offset))
            }
            AccessError::Fetch(_) => self.card.has_failed,
            AccessError::NoFrame { unsaved, page, .. } => {
                *unsaved > 0 || !self.has_room(asid, *page)
            }
        };
        if fair {
            Ok(())
        } else {
            Err(format!(
                "{asid:?} {address} write {write}: unfair {reason:?}"
            ))
        }
    }

    pub(super) fn largest(&self) -> PageSize {
        self.sizes[self.sizes.len() - 1]
    }

    /// Whether a frame of a size would be free for a space if every page left: page tables stay.
    fn has_room(&self, asid: Asid, page: PageSize) -> bool {
        let Some(placement) = self.model.spaces.get(&asid).map(|space| space.placement) else {
            return false;
        };
        let tables: Vec<(u64, u64)> = self.pager.tables().collect();
        let channels = self.card.channels();
        let free = |channel: usize, offset: u64, bytes: u64| {
            let memory = channels[channel];
            let start = memory.base.get() + offset;
            let apart =
                |&(from, length): &(u64, u64)| from + length <= start || start + bytes <= from;
            offset + bytes <= memory.bytes && tables.iter().all(apart)
        };
        let anywhere = |channels: std::ops::Range<usize>, bytes: u64, all: bool| {
            (0..1 << 12).map(|n| n * bytes).any(|offset| {
                let mut free = channels.clone().map(|channel| free(channel, offset, bytes));
                if all {
                    free.all(|free| free)
                } else {
                    free.any(|free| free)
                }
            })
        };
        match placement {
            SpacePlacement::Anywhere => anywhere(0..channels.len(), page.bytes(), false),
            SpacePlacement::Channel(channel) => anywhere(channel..channel + 1, page.bytes(), true),
            // The space may be given any single channel.
            SpacePlacement::Isolated => anywhere(0..channels.len(), page.bytes(), true),
            // The granule is as large as the largest page.
            SpacePlacement::Interleaved { .. } => anywhere(0..2, self.largest().bytes(), true),
        }
    }

    /// Performs an access to memory, at which it takes effect.
    fn access_arrives(&mut self) -> Verdict<bool> {
        let Some(leaving) = self.card.arrive(&mut self.rng) else {
            return Ok(false);
        };
        self.tally.accesses += 1;
        let Access {
            asid,
            address,
            write,
        } = leaving.access;
        let page = leaving.shows;
        if !self.model.may_show(asid, address.get(), page, write) {
            return Err(format!("{leaving:?} goes where nothing is mapped"));
        }
        let size = self.model.page_of(page.object, 0).1;
        let offset = (page.index << size.bits()) + address.page_offset(size);
        let row = (offset / ROW) as usize;
        // Writes beyond the ends are lost by rule; a kernel that continues after its mapping was replaced, or accesses
        // any address, may write there.
        let start = self.host.starts.get(&page.object).copied();
        let memory = match leaving.card.checked_sub(HOST_WINDOW) {
            Some(address) => self.host.direct_row(address)?,
            None => &mut self.card.rows(leaving.card, 1)?[0],
        };
        let object = self.model.objects.get_mut(&page.object);
        let own = object.filter(|_| offset >= start.unwrap_or_default());
        let expected = own.and_then(|object| object.rows.get_mut(row));
        match (write, expected) {
            (true, Some(latest)) => {
                *memory = self.next_stamp;
                *latest = self.next_stamp;
                self.next_stamp += 1;
            }
            (true, None) => {}
            (false, expected) => {
                let expected = expected.map_or(0, |latest| *latest);
                if *memory != expected {
                    let seen = *memory;
                    return Err(format!(
                        "{leaving:?} row {row}: read {seen}, not {expected}"
                    ));
                }
            }
        }
        Ok(true)
    }

    /// Adds a line to the trace.
    pub(super) fn remark(&mut self, text: String) {
        self.note(Happened::Note(text));
    }
}
