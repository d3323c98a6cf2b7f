//! The path of a kernel's access: translation, faults, card memory.

use super::host::HostMap;
use super::kernel::{Access, VirtualMemory};
use super::l1::HostFilledL1;
use super::memory::CardMemory;
use super::mover::Mover;
use super::posted::Posted;
use super::schedule::Schedule;
use super::table::{permits, Space};
use card::event::Event;
use card::guard::{Channel, Rule, Violation};
use card::{ChannelStatistics, RequesterStatistics};
use std::collections::VecDeque;
use units::{Asid, CardAddr, Fault, FaultCause, FaultToken, PageEntry, Stripe, Target, VirtAddr};

const BLOCK: u64 = 4096;

/// Maximum parked bursts of a requester.
pub(super) const PARK_DEPTH: usize = 64;
/// Maximum faults that a requester reports beyond its oldest.
pub(super) const LOOK_AHEAD: usize = 8;

/// State of a parked burst.
#[derive(Clone, Copy, Debug)]
enum Parking {
    /// Not translated yet.
    Open,
    /// Reported to the host.
    Waiting,
    /// Answered with a translation.
    Translated(PageEntry),
    /// Answered: the access fails.
    Refused,
}

#[derive(Clone, Copy, Debug)]
struct Parked {
    index: u8,
    address: VirtAddr,
    parking: Parking,
}

/// One port in one direction: its bursts in order, the first of them blocked.
#[derive(Clone, Debug, Default)]
pub(super) struct Requester {
    parked: VecDeque<Parked>,
    next_index: u8,
    pub(super) statistics: RequesterStatistics,
}

impl Requester {
    /// Discards the parked bursts, as a reset of the slot does.
    pub(super) fn reset(&mut self) {
        self.parked.clear();
    }

    /// Takes the host's reply to a fault; returns the address of the burst that waited for it, if any.
    pub(super) fn reply(&mut self, index: u8, entry: Option<PageEntry>) -> Option<VirtAddr> {
        let waits =
            |burst: &&mut Parked| burst.index == index && matches!(burst.parking, Parking::Waiting);
        let burst = self.parked.iter_mut().find(waits)?;
        burst.parking = entry.map_or(Parking::Refused, Parking::Translated);
        Some(burst.address)
    }

    /// Marks translated bursts for another translation; `true` if there was one.
    pub(super) fn translate_again(&mut self) -> bool {
        let mut any = false;
        for burst in &mut self.parked {
            if matches!(burst.parking, Parking::Translated(_)) {
                burst.parking = Parking::Open;
                self.statistics.retries += 1;
                any = true;
            }
        }
        any
    }

    fn park(&mut self, address: VirtAddr) {
        self.parked.push_back(Parked {
            index: self.next_index,
            address,
            parking: Parking::Open,
        });
        self.next_index = (self.next_index + 1) % PARK_DEPTH as u8;
    }
}

/// The memory as seen by the ports of one slot, for the duration of one step.
pub(super) struct PortMemory<'a> {
    pub(super) memory: &'a mut CardMemory,
    /// Host memory of pages that stay there, if the card reaches it.
    pub(super) host: Option<&'a HostMap>,
    pub(super) events: &'a mut Vec<Event>,
    pub(super) channels: &'a mut [ChannelStatistics],
    pub(super) schedule: &'a mut Schedule,
    pub(super) requesters: &'a mut [Requester],
    /// By port; empty while one of them is being drained.
    pub(super) posted: &'a mut [Posted],
    /// Movers of the slot: for each stream pair the one into the kernel, then the one out of it.
    pub(super) movers: &'a mut [Mover],
    /// Number of the slot's first mover on the card.
    pub(super) first_mover: u8,
    /// Number of the slot's first requester on the card.
    pub(super) first_requester: u8,
    pub(super) asid: Asid,
    pub(super) space: Option<Space>,
    /// L1 TLB of the slot's space, if its walker is off.
    pub(super) l1: Option<&'a HostFilledL1>,
    /// False: addresses are card addresses.
    pub(super) translated: bool,
    /// An operation of the model that no kernel can carry out.
    pub(super) broken_rule: Option<String>,
    /// The rule of the slot boundary that the kernel broke, and the port.
    pub(super) violation: Option<(usize, Violation)>,
}

impl VirtualMemory for PortMemory<'_> {
    fn read(&mut self, port: usize, address: u64, to: &mut [u8]) -> Access {
        match self.admit(port, false, address, to.len()) {
            Ok(BurstTarget::Host(at)) => match self.host.and_then(|host| host.read(at, to)) {
                Some(()) => Access::Done,
                None => {
                    to.fill(0);
                    Access::Failed
                }
            },
            Ok(BurstTarget::Card(at)) => {
                for (at, range) in self.memory.pieces(self.stripe(), at, to.len() as u64) {
                    let channel = self.memory.channel(at.get());
                    self.channels[channel].rows_read += rows(at.get(), range.len());
                    self.memory.read(at, &mut to[range]);
                }
                Access::Done
            }
            Err(Access::Failed) => {
                to.fill(0);
                Access::Failed
            }
            Err(other) => other,
        }
    }

    fn write(&mut self, port: usize, address: u64, from: &[u8]) -> Access {
        if self.posted.get(port).is_some_and(Posted::is_waiting) {
            return Access::Blocked;
        }
        match self.admit(port, true, address, from.len()) {
            Ok(BurstTarget::Host(at)) => match self.host.and_then(|host| host.write(at, from)) {
                Some(()) => Access::Done,
                None => Access::Failed,
            },
            Ok(BurstTarget::Card(at)) => {
                for (at, range) in self.memory.pieces(self.stripe(), at, from.len() as u64) {
                    let channel = self.memory.channel(at.get());
                    self.channels[channel].rows_written += rows(at.get(), range.len());
                    self.memory.write(at, &from[range]);
                }
                Access::Done
            }
            Err(other) => other,
        }
    }

    fn post(&mut self, port: usize, address: u64, from: &[u8]) -> bool {
        let Some(posted) = self.posted.get_mut(port) else {
            self.broke(format!("it has no port {port}"));
            return false;
        };
        posted.take(address, from)
    }

    fn announce(&mut self, port: usize, write: bool, addresses: &[u64]) {
        let number = 2 * port + usize::from(write);
        let Some(requester) = self.requesters.get_mut(number) else {
            return self.broke(format!("it has no port {port}"));
        };
        if requester.parked.is_empty() {
            return;
        }
        let known = requester.parked.len() - 1;
        let room = PARK_DEPTH - requester.parked.len();
        for &address in addresses.iter().skip(known).take(room) {
            requester.park(VirtAddr::truncated(address));
        }
        if !self.schedule.whim() {
            self.look_ahead(number);
        }
    }

    fn receive(&mut self, pair: usize, most: usize) -> Option<(Vec<u8>, bool)> {
        let Some(mover) = self.movers.get_mut(2 * pair) else {
            self.broke(format!("it has no stream pair {pair}"));
            return None;
        };
        let (bytes, last, end) = mover.receive(most)?;
        if let Some(end) = end {
            let mover = self.first_mover + 2 * pair as u8;
            self.events.push(Event::TransferDone { mover, end });
        }
        Some((bytes, last))
    }

    fn send(&mut self, pair: usize, bytes: &[u8], last: bool) -> bool {
        let Some(mover) = self.movers.get_mut(2 * pair + 1) else {
            self.broke(format!("it has no stream pair {pair}"));
            return false;
        };
        mover.send(bytes, last)
    }
}

impl PortMemory<'_> {
    /// Interleaving of the slot's space over the channels.
    fn stripe(&self) -> Stripe {
        self.space.map_or(Stripe::NONE, |space| space.stripe)
    }

    /// Decides whether a burst may proceed.
    fn admit(
        &mut self,
        port: usize,
        write: bool,
        address: u64,
        bytes: usize,
    ) -> Result<BurstTarget, Access> {
        let direction = if write { "writes" } else { "reads" };
        let number = 2 * port + usize::from(write);
        if number >= self.requesters.len() {
            self.broke(format!("it has no port {port}"));
            return Err(Access::Failed);
        }
        if bytes == 0 {
            self.broke(format!(
                "port {port} {direction} nothing at 0x{address:x}: a burst is not empty"
            ));
            return Err(Access::Failed);
        }
        let Some(start) = VirtAddr::new(address) else {
            return Err(self.violates(port, write, Rule::Address, address, bytes));
        };
        if address % BLOCK + bytes as u64 > BLOCK {
            return Err(self.violates(port, write, Rule::Block, address, bytes));
        }
        let address = start;
        if self.requesters[number].parked.is_empty() {
            self.requesters[number].park(address);
        }
        let first = self.requesters[number].parked[0];
        if first.address != address {
            self.broke(format!(
                "port {port} {direction} at {address} while its burst at {} waits",
                first.address
            ));
            return Err(Access::Failed);
        }
        let found = match first.parking {
            Parking::Waiting => return Err(Access::Blocked),
            Parking::Refused => None,
            Parking::Open => self.translate(number, address, write)?,
            Parking::Translated(entry) => match permits(&entry, write, self.host.is_some()) {
                Ok(()) => place(&entry, address),
                Err(cause) => return Err(self.fault(number, 0, cause)),
            },
        };
        let requester = &mut self.requesters[number];
        requester.parked.pop_front();
        // Counted here and not when it is parked: bursts behind a blocked one are parked before they are issued.
        let rows = rows(address.get(), bytes);
        requester.statistics.bursts += 1;
        requester.statistics.rows += rows;
        requester.statistics.bytes += rows * units::ROW_BYTES;
        found
            .filter(|place| match *place {
                BurstTarget::Card(at) => {
                    self.memory
                        .contains_striped(self.stripe(), at, bytes as u64)
                }
                BurstTarget::Host(_) => true,
            })
            .ok_or(Access::Failed)
    }

    /// Translates the first burst of a requester, or reports its fault.
    fn translate(
        &mut self,
        number: usize,
        address: VirtAddr,
        write: bool,
    ) -> Result<Option<BurstTarget>, Access> {
        let found = self.look_up(address, write, true);
        let statistics = &mut self.requesters[number].statistics;
        match found {
            Ok(_) => statistics.walk_hits += 1,
            Err(_) => statistics.walk_misses += 1,
        }
        found.map_err(|cause| self.fault(number, 0, cause))
    }

    fn look_up(
        &mut self,
        address: VirtAddr,
        write: bool,
        mark: bool,
    ) -> Result<Option<BurstTarget>, FaultCause> {
        if !self.translated {
            return Ok(CardAddr::new(address.get()).map(BurstTarget::Card));
        }
        let space = self.space.ok_or(FaultCause::Absent)?;
        let entry = match self.l1 {
            Some(l1) if space.walker_off => l1.translate(address, write, space.host_channel)?,
            _ => space.translate(self.memory, address, write, mark)?,
        };
        Ok(place(&entry, address))
    }

    /// Reports the fault of the burst at `position` of a requester.
    fn fault(&mut self, number: usize, position: usize, cause: FaultCause) -> Access {
        let requester = &mut self.requesters[number];
        let burst = &mut requester.parked[position];
        burst.parking = Parking::Waiting;
        requester.statistics.faults += 1;
        self.events.push(Event::Fault(Fault {
            token: FaultToken {
                requester: self.first_requester + number as u8,
                index: burst.index,
            },
            asid: self.asid,
            address: burst.address,
            write: number % 2 == 1,
            ahead: position > 0,
            cause,
        }));
        Access::Blocked
    }

    /// Reports the faults of bursts behind the oldest one.
    fn look_ahead(&mut self, number: usize) {
        let waiting = |burst: &Parked| matches!(burst.parking, Parking::Waiting);
        if !self.requesters[number].parked.front().is_some_and(waiting) {
            return;
        }
        let mut reported = self.requesters[number]
            .parked
            .iter()
            .skip(1)
            .filter(|b| waiting(b))
            .count();
        for position in 1..self.requesters[number].parked.len() {
            if reported == LOOK_AHEAD {
                break;
            }
            let burst = self.requesters[number].parked[position];
            if !matches!(burst.parking, Parking::Open) {
                continue;
            }
            if let Err(cause) = self.look_up(burst.address, number % 2 == 1, false) {
                self.requesters[number].statistics.walk_misses += 1;
                self.fault(number, position, cause);
                reported += 1;
            }
        }
    }

    /// The result of an access of a kernel whose slot the guard closes.
    fn violates(
        &mut self,
        port: usize,
        write: bool,
        rule: Rule,
        address: u64,
        bytes: usize,
    ) -> Access {
        let violation = Violation {
            rule,
            channel: if write { Channel::Aw } else { Channel::Ar },
            address,
            beats: rows(address, bytes) as u32,
            beat_bytes: units::ROW_BYTES as u32,
            burst: 1,
            beat: 1,
        };
        self.violation.get_or_insert((port, violation));
        Access::Failed
    }

    fn broke(&mut self, rule: String) {
        self.broken_rule.get_or_insert(rule);
    }
}

/// Location of a burst's bytes.
#[derive(Clone, Copy, Debug)]
enum BurstTarget {
    /// In card memory.
    Card(CardAddr),
    /// In host memory, at this host address.
    Host(u64),
}

/// The location of an access through an entry; `None` beyond 37 bits.
fn place(entry: &PageEntry, address: VirtAddr) -> Option<BurstTarget> {
    let at = entry.frame.card_address().get() + address.page_offset(entry.size);
    match entry.target {
        Target::Host => Some(BurstTarget::Host(at)),
        _ => CardAddr::new(at).map(BurstTarget::Card),
    }
}

/// Rows that a range touches.
fn rows(address: u64, bytes: usize) -> u64 {
    (address % 64 + bytes as u64).div_ceil(64)
}
