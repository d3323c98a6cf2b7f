//! The devices of a channel: open rows, and the earliest time of each command.

use super::trace::{Command, CommandKind};
use crate::platform::{AddressMap, MemoryTiming, MAX_BANKS};

/// No row is open.
const CLOSED: u32 = u32::MAX;

/// Maximum bank groups (a platform file may have 8).
const MAX_GROUPS: usize = 8;

/// One direction of the data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// State and timing of the devices. Times are clocks; every `next_*` is the first clock at which such a command obeys
/// the constraints of that scope.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    timing: MemoryTiming,
    banks: usize,
    group_mask: usize,
    group_bits: u32,
    open: [u32; MAX_BANKS],
    next_act: [u64; MAX_BANKS],
    next_pre: [u64; MAX_BANKS],
    next_column: [u64; MAX_BANKS],
    group_act: [u64; MAX_GROUPS],
    group_read: [u64; MAX_GROUPS],
    group_write: [u64; MAX_GROUPS],
    /// Clock at which a group that serves its rows in order accepts the next ACT or PRE.
    group_turn: [u64; MAX_GROUPS],
    group_gap: u64,
    any_act: u64,
    any_read: u64,
    any_write: u64,
    /// Clocks at which each of the last four ACTs leaves the tFAW window; `faw_oldest` is the next to leave.
    faw: [u64; 4],
    faw_oldest: usize,
    next_refresh: u64,
    activations: u64,
    trace: Option<Vec<Command>>,
}

impl Devices {
    pub fn new(timing: MemoryTiming, map: &AddressMap) -> Self {
        Self {
            timing,
            banks: map.banks() as usize,
            group_mask: map.bank_groups as usize - 1,
            group_bits: map.bank_groups.trailing_zeros(),
            open: [CLOSED; MAX_BANKS],
            next_act: [0; MAX_BANKS],
            next_pre: [0; MAX_BANKS],
            next_column: [0; MAX_BANKS],
            group_act: [0; MAX_GROUPS],
            group_read: [0; MAX_GROUPS],
            group_write: [0; MAX_GROUPS],
            group_turn: [0; MAX_GROUPS],
            group_gap: 0,
            any_act: 0,
            any_read: 0,
            any_write: 0,
            faw: [0; 4],
            faw_oldest: 0,
            next_refresh: timing.refi,
            activations: 0,
            trace: None,
        }
    }

    /// Clocks from a column command to the next ACT or PRE of its group.
    pub fn set_group_gap(&mut self, clocks: u64) {
        self.group_gap = clocks;
    }

    pub fn activations(&self) -> u64 {
        self.activations
    }

    /// Clock at which the next refresh is due. From then on the devices accept nothing before it.
    pub fn next_refresh(&self) -> u64 {
        self.next_refresh
    }

    pub fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    pub fn take_trace(&mut self) -> Vec<Command> {
        self.trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn is_open(&self, bank: usize, row: u32) -> bool {
        self.open[bank] == row
    }

    pub fn is_closed(&self, bank: usize) -> bool {
        self.open[bank] == CLOSED
    }

    /// First clock at which the bank accepts an ACT.
    pub fn act_ready(&self, bank: usize) -> u64 {
        let group = bank & self.group_mask;
        self.next_act[bank]
            .max(self.group_act[group])
            .max(self.any_act)
            .max(self.group_turn[group])
            .max(self.faw[self.faw_oldest])
    }

    /// First clock at which the bank accepts a PRE.
    pub fn pre_ready(&self, bank: usize) -> u64 {
        self.next_pre[bank].max(self.group_turn[bank & self.group_mask])
    }

    /// First clock at which any bank accepts a RD or WR.
    #[inline]
    pub fn any_column_ready(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.any_read,
            Direction::Write => self.any_write,
        }
    }

    /// First clock at which the bank accepts a RD or WR of its open row.
    #[inline]
    pub fn column_ready(&self, bank: usize, direction: Direction) -> u64 {
        let group = bank & self.group_mask;
        let shared = match direction {
            Direction::Read => self.group_read[group].max(self.any_read),
            Direction::Write => self.group_write[group].max(self.any_write),
        };
        self.next_column[bank].max(shared)
    }

    pub fn activate(&mut self, at: u64, bank: usize, row: u32) {
        debug_assert!(at >= self.act_ready(bank) && self.is_closed(bank));
        let t = &self.timing;
        let group = bank & self.group_mask;
        self.open[bank] = row;
        self.next_column[bank] = at + t.rcd;
        self.next_pre[bank] = at + t.ras;
        self.next_act[bank] = at + t.ras + t.rp;
        self.group_act[group] = at + t.rrd_l;
        self.any_act = at + t.rrd_s;
        self.faw[self.faw_oldest] = at + t.faw;
        self.faw_oldest = (self.faw_oldest + 1) % self.faw.len();
        self.activations += 1;
        self.record(at, bank, CommandKind::Activate { row });
    }

    pub fn precharge(&mut self, at: u64, bank: usize) {
        debug_assert!(at >= self.pre_ready(bank) && !self.is_closed(bank));
        self.open[bank] = CLOSED;
        self.next_act[bank] = self.next_act[bank].max(at + self.timing.rp);
        self.record(at, bank, CommandKind::Precharge);
    }

    /// Marks the column command just issued as one with auto-precharge.
    pub fn close_itself(&mut self, bank: usize) {
        self.open[bank] = CLOSED;
        let closed = self.next_pre[bank] + self.timing.rp;
        raise(&mut self.next_act[bank], closed);
    }

    /// Issues a RD or WR; returns the clock at which its data has passed over the pins.
    pub fn column(&mut self, at: u64, bank: usize, address: u32, direction: Direction) -> u64 {
        debug_assert!(at >= self.column_ready(bank, direction));
        let t = &self.timing;
        let group = bank & self.group_mask;
        let end;
        self.group_turn[group] = at + self.group_gap;
        match direction {
            Direction::Read => {
                end = at + t.cl + t.burst;
                raise(&mut self.group_read[group], at + t.ccd_l);
                raise(&mut self.any_read, at + t.ccd_s);
                raise(&mut self.any_write, end + t.rtw_gap - t.cwl);
                raise(&mut self.next_pre[bank], at + t.rtp);
                self.record(at, bank, CommandKind::Read { address });
            }
            Direction::Write => {
                end = at + t.cwl + t.burst;
                raise(&mut self.group_write[group], at + t.ccd_l);
                raise(&mut self.any_write, at + t.ccd_s);
                raise(&mut self.group_read[group], end + t.wtr_l);
                raise(&mut self.any_read, end + t.wtr_s);
                raise(&mut self.next_pre[bank], end + t.wr);
                self.record(at, bank, CommandKind::Write { address });
            }
        }
        end
    }

    /// Performs the due refresh, not before `at`: closes open rows, then REF. Returns the clock of the REF.
    pub fn refresh(&mut self, at: u64) -> u64 {
        let mut at = at.max(self.next_refresh);
        let open = (0..self.banks).filter(|&bank| !self.is_closed(bank));
        if let Some(ready) = open.map(|bank| self.next_pre[bank]).max() {
            at = at.max(ready);
            self.open = [CLOSED; MAX_BANKS];
            self.record(at, 0, CommandKind::PrechargeAll);
            at += self.timing.rp;
        }
        let closed = self.next_act[..self.banks].iter().max();
        at = closed.map_or(at, |&ready| at.max(ready));
        self.note_refresh(at);
        at
    }

    /// Performs every further refresh due before `until`, with nothing open and nothing else to do.
    pub fn refresh_idle(&mut self, until: u64) {
        debug_assert!((0..self.banks).all(|bank| self.is_closed(bank)));
        if self.trace.is_some() {
            while self.next_refresh < until {
                self.note_refresh(self.next_refresh);
            }
        } else if self.next_refresh < until {
            let more = (until - 1 - self.next_refresh) / self.timing.refi;
            self.next_refresh += more * self.timing.refi;
            self.note_refresh(self.next_refresh);
        }
    }

    fn note_refresh(&mut self, at: u64) {
        self.next_act = [at + self.timing.rfc; MAX_BANKS];
        self.next_refresh += self.timing.refi;
        self.record(at, 0, CommandKind::Refresh);
    }

    fn record(&mut self, clock: u64, bank: usize, kind: CommandKind) {
        if let Some(trace) = &mut self.trace {
            trace.push(Command {
                clock,
                kind,
                bank_group: (bank & self.group_mask) as u8,
                bank: (bank >> self.group_bits) as u8,
            });
        }
    }
}

fn raise(time: &mut u64, to: u64) {
    *time = (*time).max(to);
}
