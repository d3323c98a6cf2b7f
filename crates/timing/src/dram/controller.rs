//! The controller of a channel: queues in front of the devices, and the selection of commands.

use super::address::AddressDecoder;
use super::choice::{banks, Best, Choice, Step, PREPARE_ACTIVATE, PREPARE_PRECHARGE};
use super::devices::{Devices, Direction};
use super::queue::{Queue, Waiting};
use super::trace::Command;
use super::window::Window;
use super::{Access, MemoryChannel, RowDone};
use crate::platform::{self, Memory};
use std::collections::VecDeque;
use units::{Picoseconds, ROW_BYTES};

/// A time that never comes, in clocks.
const NEVER: u64 = u64::MAX;

/// Number of old rows to try: one of them can usually be served immediately, as these are two groups' turns.
const TRIED_HITS: usize = 8;

/// Rows of the longest burst of the shell, which determines the size of the reorder buffer.
const BURST_ROWS: usize = 64;

/// One channel: a controller that serves row hits first, oldest first (FR-FCFS), over a bounded
/// window of reads and one of writes, with open pages.
///
/// Reads go first; writes wait in their queue until enough have gathered, or no read has come for a
/// while, or a read needs what one of them wrote. A write is complete when all its rows are in the
/// queue: from then on it is ordered before every later access of the same row. While both
/// directions wait, they take turns of `drain_batch` rows.
///
/// ```
/// use tombolo_timing::dram::{Access, Controller, MemoryChannel};
/// use tombolo_timing::platform::Platform;
/// use units::Picoseconds;
///
/// let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
/// let f1 = Platform::named("f1", &[directory])?;
/// let mut channel = Controller::new(f1.memory());
/// let read = Access { token: 7, offset: 4096, rows: 2, write: false };
/// channel.push(Picoseconds::ZERO, read);
/// let first = channel.pop_read(Picoseconds::from_micros(1)).unwrap();
/// assert_eq!((first.token, first.row, first.last), (7, 0, false));
/// # Ok::<(), tombolo_timing::platform::PlatformError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Controller {
    figures: ControllerTiming,
    decoder: AddressDecoder,
    devices: Devices,
    /// Mask of the bank group in a bank's number.
    group_mask: usize,
    reads: Queue,
    writes: Queue,
    /// Rows of reads that have entered the window, in the order of the user side.
    returning: VecDeque<Returning>,
    /// Number of the first of them.
    first_returning: u32,
    /// Completions of writes, in order.
    acknowledged: VecDeque<RowDone>,
    /// Number of the next access.
    next_sequence: u64,
    next_write_id: u32,
    /// Direction that has the bus.
    direction: Direction,
    /// Whether the present drain was triggered, and lasts for a batch.
    draining: bool,
    /// Rows served since the direction changed.
    served: u32,
    /// Last clock with a read arriving or served.
    last_read: u64,
    /// Commands before this clock have been issued.
    clock: u64,
    /// The next action; `None` if something has changed since it was chosen.
    plan: Option<Plan>,
    /// No command is possible before this clock, unless an access is pushed.
    next_command: u64,
    /// No row of a read and no completion of a write is possible before these times.
    read_wake: Picoseconds,
    write_wake: Picoseconds,
    /// Time of the last returned row: later rows are no earlier.
    last_row_at: Picoseconds,
    /// The latest time of any call.
    now: Picoseconds,
}

/// Figures that the controller needs at every step.
#[derive(Clone, Copy, Debug)]
struct ControllerTiming {
    clock_ps: u64,
    refi: u64,
    read_clocks: u64,
    columns: u8,
    controller: platform::ControllerFigures,
}

#[derive(Clone, Copy, Debug)]
struct Returning {
    token: u32,
    row: u16,
    last: bool,
    /// `None` until its column command has been issued.
    at: Option<Picoseconds>,
}

/// The controller's next action and its time: a command, or (`None`) another choice of the direction.
#[derive(Clone, Copy, Debug)]
struct Plan {
    at: u64,
    choice: Option<Choice>,
}

impl Controller {
    /// One channel of a memory.
    pub fn new(memory: &Memory) -> Self {
        let c = memory.controller;
        let reads = c.read_accesses as usize;
        Self {
            figures: ControllerTiming {
                clock_ps: memory.timing.clock_ps.get(),
                refi: memory.timing.refi,
                read_clocks: memory.timing.cl + memory.timing.burst,
                columns: memory.timing.columns_per_row as u8,
                controller: c,
            },
            decoder: AddressDecoder::new(&memory.address),
            devices: {
                let mut devices = Devices::new(memory.timing, &memory.address);
                devices.set_group_gap(c.group_gap.unwrap_or(0));
                devices
            },
            group_mask: memory.address.bank_groups as usize - 1,
            reads: Queue::new(c.read_accesses, c.read_queue, c.bypass_limit),
            writes: Queue::new(c.write_accesses, c.write_queue, c.bypass_limit),
            returning: VecDeque::with_capacity(reads * BURST_ROWS),
            first_returning: 0,
            acknowledged: VecDeque::with_capacity(c.write_accesses as usize),
            next_sequence: 0,
            next_write_id: 0,
            direction: Direction::Read,
            draining: false,
            served: 0,
            last_read: 0,
            clock: 0,
            plan: None,
            next_command: NEVER,
            read_wake: Picoseconds::MAX,
            write_wake: Picoseconds::MAX,
            last_row_at: Picoseconds::ZERO,
            now: Picoseconds::ZERO,
        }
    }

    /// Records every command from now on, for [`take_commands`](Self::take_commands).
    pub fn record_commands(&mut self) {
        self.devices.start_trace();
    }

    /// The commands recorded since the last call. Those of an idle channel are recorded late: at its next use.
    pub fn take_commands(&mut self) -> Vec<Command> {
        self.devices.take_trace()
    }

    /// The clock at which an access pushed at `now` reaches the scheduler. Later accesses cannot reach it earlier, so
    /// commands up to here may be issued.
    fn horizon(&self, now: Picoseconds) -> u64 {
        let arrival = now + self.figures.controller.request_ps;
        arrival.get().div_ceil(self.figures.clock_ps)
    }

    fn time_of(&self, clock: u64) -> Picoseconds {
        Picoseconds::new(self.figures.clock_ps) * clock
    }

    /// Issues every command before clock `until`.
    fn advance(&mut self, until: u64) {
        if self.next_command >= until && self.devices.next_refresh() >= until {
            self.clock = self.clock.max(until);
            return;
        }
        loop {
            let plan = self.plan();
            let due = self.devices.next_refresh();
            if due <= plan.at && due < until {
                self.refresh(plan.at == NEVER, until);
                continue;
            }
            self.next_command = plan.at;
            if plan.at >= until {
                self.clock = self.clock.max(until);
                return;
            }
            self.plan = None;
            self.clock = plan.at;
            if let Some(choice) = plan.choice {
                self.give(choice);
                self.clock += 1;
            }
        }
    }

    /// The next action, if nothing else is pushed.
    fn plan(&mut self) -> Plan {
        if let Some(plan) = self.plan {
            return plan;
        }
        self.fill_windows();
        self.choose_direction();
        let turn = self.idle_turn();
        let choice = self.choose().filter(|choice| choice.at < turn);
        let at = choice.map_or(turn, |choice| choice.at);
        *self.plan.insert(Plan { at, choice })
    }

    fn refresh(&mut self, idle: bool, until: u64) {
        self.plan = None;
        self.clock = self.devices.refresh(self.clock) + 1;
        self.reads.window.all_closed();
        self.writes.window.all_closed();
        if idle {
            self.devices.refresh_idle(until);
        }
    }

    /// Moves rows from waiting accesses into the windows, as far as room and ordering allow.
    fn fill_windows(&mut self) {
        // Once more only if reads waited for writes, and these moved.
        loop {
            let waits = self.fill_reads();
            if !(self.fill_writes() && waits) {
                return;
            }
        }
    }

    /// Whether the next row waits until a write has entered.
    fn fill_reads(&mut self) -> bool {
        while !self.reads.window.is_full() {
            let Some(front) = self.reads.waiting.front_mut() else {
                break;
            };
            if !self.writes.has_entered(front.after) {
                return true;
            }
            let id = self
                .first_returning
                .wrapping_add(self.returning.len() as u32);
            let address = front.next;
            let row = front.entered;
            front.next += 1;
            front.entered += 1;
            let last = front.entered == front.rows;
            self.returning.push_back(Returning {
                token: front.token,
                row,
                last,
                at: None,
            });
            if last {
                self.reads.waiting.pop_front();
            }
            let place = self.decoder.place(address);
            let after = self.writes.window.youngest(address);
            let columns = self.figures.columns;
            self.reads
                .window
                .push(address, place, columns, id, after, &self.devices);
        }
        false
    }

    /// Whether any row moved.
    fn fill_writes(&mut self) -> bool {
        let mut moved = false;
        while !self.writes.window.is_full() {
            let Some(front) = self.writes.waiting.front_mut() else {
                break;
            };
            if !self.reads.has_entered(front.after) {
                break;
            }
            let id = self.next_write_id;
            self.next_write_id = id.wrapping_add(1);
            let address = front.next;
            front.next += 1;
            front.entered += 1;
            if front.entered == front.rows {
                let (token, row) = (front.token, front.rows - 1);
                self.writes.waiting.pop_front();
                let at = self.time_of(self.clock) + self.figures.controller.write_response_ps;
                self.acknowledged.push_back(RowDone {
                    token,
                    row,
                    last: true,
                    at,
                });
            }
            let place = self.decoder.place(address);
            let after = self.reads.window.youngest(address);
            let columns = self.figures.columns;
            self.writes
                .window
                .push(address, place, columns, id, after, &self.devices);
            moved = true;
        }
        moved
    }

    /// Whether writes should be served although reads wait.
    fn drain_wanted(&self) -> bool {
        self.writes.window.len() >= self.figures.controller.drain_start as usize
            || self.reads.window.any_blocked()
    }

    fn choose_direction(&mut self) {
        let reads = self.reads.window.any_eligible();
        let writes = self.writes.window.any_eligible();
        let turn_over = self.served >= self.figures.controller.drain_batch;
        match self.direction {
            Direction::Read => {
                let wanted = self.drain_wanted();
                let idle = self.clock >= self.last_read + self.figures.controller.drain_idle;
                let reads_give_way = if reads {
                    wanted && turn_over
                } else {
                    wanted || idle
                };
                if writes && reads_give_way {
                    self.draining = wanted;
                    self.turn(Direction::Write);
                }
            }
            Direction::Write => {
                let writes_give_way = turn_over || !self.draining || !writes;
                if reads && writes_give_way {
                    self.turn(Direction::Read);
                }
            }
        }
    }

    fn turn(&mut self, direction: Direction) {
        self.direction = direction;
        self.served = 0;
    }

    /// Time at which writes may be served because no read has arrived; `NEVER` if they do not wait for that.
    fn idle_turn(&self) -> u64 {
        if self.direction == Direction::Read
            && !self.reads.window.any_eligible()
            && self.writes.window.any_eligible()
        {
            self.last_read + self.figures.controller.drain_idle
        } else {
            NEVER
        }
    }

    /// The best command, and its earliest time.
    fn choose(&self) -> Option<Choice> {
        let (own, other) = match self.direction {
            Direction::Read => (&self.reads.window, &self.writes.window),
            Direction::Write => (&self.writes.window, &self.reads.window),
        };
        if self.figures.controller.group_gap.is_some() {
            return self.choose_in_order();
        }
        let hit = self.choose_hit(own, other);
        #[cfg(test)]
        assert!(hit.is_none() || hit == self.choose_any(own, other));
        hit.or_else(|| self.choose_any(own, other))
    }

    /// The best command of all.
    fn choose_any(&self, own: &Window, other: &Window) -> Option<Choice> {
        let mut best = Best::NONE;
        let mut busy = 0;
        for bank in banks(own.banks()) {
            let waiting = own.eligible_of_bank(bank);
            if waiting == 0 {
                continue;
            }
            busy |= 1 << bank;
            // All three are computed and one is taken: the selection is unpredictable.
            let hits = own.hits_of_bank(bank);
            let ready = [
                self.devices.column_ready(bank, self.direction),
                self.devices.act_ready(bank),
                self.devices.pre_ready(bank),
            ];
            let need = usize::from(hits == 0) << usize::from(!self.devices.is_closed(bank));
            let candidates = if hits == 0 { waiting } else { hits };
            best.offer(ready[need].max(self.clock), need, candidates, bank);
        }
        for bank in banks(other.banks() & !busy) {
            let waiting = other.eligible_of_bank(bank);
            if waiting == 0 || other.hits_of_bank(bank) != 0 {
                continue;
            }
            let (ready, step) = if self.devices.is_closed(bank) {
                (self.devices.act_ready(bank), PREPARE_ACTIVATE)
            } else {
                (self.devices.pre_ready(bank), PREPARE_PRECHARGE)
            };
            best.offer(ready.max(self.clock), step, waiting, bank);
        }
        best.choice()
    }

    /// The best command, in the simple case: every row that may be served, of both directions, hits its open DRAM row,
    /// so that only column commands are needed, and one for an old row can be issued as early as any.
    #[inline]
    fn choose_hit(&self, own: &Window, other: &Window) -> Option<Choice> {
        if !own.all_hit() || !other.all_hit() {
            return None;
        }
        let at = self
            .devices
            .any_column_ready(self.direction)
            .max(self.clock);
        let mut rest = own.eligible();
        for _ in 0..TRIED_HITS {
            if rest == 0 {
                break;
            }
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let bank = usize::from(own.entry(index).bank);
            if self.devices.column_ready(bank, self.direction) <= at {
                return Some(Choice {
                    at,
                    step: Step::Column,
                    index,
                    bank,
                });
            }
        }
        None
    }

    /// The same with bank groups that each serve their rows in order.
    fn choose_in_order(&self) -> Option<Choice> {
        let own = match self.direction {
            Direction::Read => &self.reads.window,
            Direction::Write => &self.writes.window,
        };
        let mut first = [0u64; platform::MAX_BANKS];
        for bank in banks(own.banks()) {
            first[bank & self.group_mask] |= own.eligible_of_bank(bank);
        }
        for group in &mut first {
            *group &= group.wrapping_neg();
        }
        let mut best = Best::NONE;
        for bank in banks(own.banks()) {
            let candidate = own.eligible_of_bank(bank) & first[bank & self.group_mask];
            if candidate == 0 {
                continue;
            }
            let hits = own.hits_of_bank(bank) & candidate;
            let (ready, need) = if hits != 0 {
                (self.devices.column_ready(bank, self.direction), 0)
            } else if self.devices.is_closed(bank) {
                (self.devices.act_ready(bank), 1)
            } else {
                (self.devices.pre_ready(bank), 2)
            };
            best.offer(ready.max(self.clock), need, candidate, bank);
        }
        best.choice()
    }

    /// Closes the bank behind a row, if the controller does that.
    fn close_behind(&mut self, address: u32, bank: usize) {
        if self.figures.controller.auto_precharge && self.decoder.ends_bank(address) {
            self.devices.close_itself(bank);
            self.reads.window.closed(bank);
            self.writes.window.closed(bank);
        }
    }

    fn give(&mut self, choice: Choice) {
        let Choice {
            at,
            step,
            index,
            bank,
        } = choice;
        let preparing = matches!(step, Step::PrepareActivate | Step::PreparePrecharge);
        match step {
            Step::Column => match self.direction {
                Direction::Read => self.give_read(at, bank, index),
                Direction::Write => self.give_write(at, bank, index),
            },
            Step::Activate | Step::PrepareActivate => {
                let for_reads = (self.direction == Direction::Read) != preparing;
                let queue = if for_reads { &self.reads } else { &self.writes };
                let row = queue.window.entry(index).row;
                self.devices.activate(at, bank, row);
                self.reads.window.opened(bank, row);
                self.writes.window.opened(bank, row);
            }
            Step::Precharge | Step::PreparePrecharge => {
                self.devices.precharge(at, bank);
                self.reads.window.closed(bank);
                self.writes.window.closed(bank);
            }
        }
    }

    fn give_read(&mut self, at: u64, bank: usize, index: usize) {
        let address = self.reads.window.entry(index).address;
        let end = self.devices.column(at, bank, address, Direction::Read);
        self.last_read = at;
        if let Some(entry) = self.reads.window.column_given(index, bank) {
            let done = self.time_of(end) + self.figures.controller.response_ps;
            let place = entry.id.wrapping_sub(self.first_returning) as usize;
            self.returning[place].at = Some(done);
            self.served += 1;
            self.writes.window.release(entry.id);
            self.close_behind(address, bank);
        }
    }

    fn give_write(&mut self, at: u64, bank: usize, index: usize) {
        let address = self.writes.window.entry(index).address;
        self.devices.column(at, bank, address, Direction::Write);
        if let Some(entry) = self.writes.window.column_given(index, bank) {
            self.served += 1;
            self.reads.window.release(entry.id);
            self.close_behind(address, bank);
        }
    }

    /// Updates the times of the next results.
    fn update_wakes(&mut self) {
        self.read_wake = match self.returning.front() {
            Some(Returning { at: Some(at), .. }) => (*at).max(self.last_row_at),
            _ if self.reads.outstanding > 0 => {
                let clock = self.next_command.saturating_add(self.figures.read_clocks);
                self.time_of(clock) + self.figures.controller.response_ps
            }
            _ => Picoseconds::MAX,
        };
        self.write_wake = match self.acknowledged.front() {
            Some(done) => done.at,
            None if self.writes.outstanding > 0 => {
                self.time_of(self.next_command) + self.figures.controller.write_response_ps
            }
            None => Picoseconds::MAX,
        };
    }

    fn advance_to(&mut self, now: Picoseconds) {
        debug_assert!(now >= self.now, "time went back");
        self.now = now;
        self.advance(self.horizon(now));
        self.update_wakes();
    }
}

impl MemoryChannel for Controller {
    fn can_accept(&self, write: bool) -> bool {
        if write {
            self.writes.outstanding < self.figures.controller.write_accesses
        } else {
            self.reads.outstanding < self.figures.controller.read_accesses
        }
    }

    fn push(&mut self, now: Picoseconds, access: Access) {
        debug_assert!(self.can_accept(access.write), "pushed into a full queue");
        debug_assert!(access.offset % ROW_BYTES == 0 && access.rows > 0);
        debug_assert!(now >= self.now, "time went back");
        self.now = now;
        let arrival = self.horizon(now);
        self.advance(arrival);
        let (own, other) = if access.write {
            (&mut self.writes, &self.reads)
        } else {
            self.last_read = arrival;
            (&mut self.reads, &self.writes)
        };
        let first = (access.offset / ROW_BYTES) as u32;
        own.outstanding += 1;
        own.waiting.push_back(Waiting {
            token: access.token,
            next: first,
            entered: 0,
            rows: access.rows,
            sequence: self.next_sequence,
            after: other.overlapping(first, access.rows),
        });
        self.next_sequence += 1;
        self.plan = None;
        self.next_command = self.next_command.min(self.clock);
        self.update_wakes();
    }

    fn pop_read(&mut self, now: Picoseconds) -> Option<RowDone> {
        if now < self.read_wake {
            return None;
        }
        self.advance_to(now);
        if now < self.read_wake {
            return None;
        }
        let front = self.returning.pop_front()?;
        self.first_returning = self.first_returning.wrapping_add(1);
        self.last_row_at = self.read_wake;
        if front.last {
            self.reads.outstanding -= 1;
        }
        self.update_wakes();
        Some(RowDone {
            token: front.token,
            row: front.row,
            last: front.last,
            at: self.last_row_at,
        })
    }

    fn pop_write(&mut self, now: Picoseconds) -> Option<RowDone> {
        if now < self.write_wake {
            return None;
        }
        self.advance_to(now);
        if now < self.write_wake {
            return None;
        }
        let done = self.acknowledged.pop_front()?;
        self.writes.outstanding -= 1;
        self.update_wakes();
        Some(done)
    }

    fn next_event(&mut self) -> Option<Picoseconds> {
        let wake = self.read_wake.min(self.write_wake);
        (wake != Picoseconds::MAX).then_some(wake)
    }

    fn activations(&self) -> u64 {
        self.devices.activations()
    }

    fn refreshes(&self) -> u64 {
        self.now.get() / self.figures.clock_ps / self.figures.refi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    /// The fast path of a choice is compared with the full search at each choice (`choose`).
    #[test]
    fn the_short_way_to_a_choice_chooses_the_same() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
        let f1 = Platform::named("f1", &[directory]).unwrap();
        let mut channel = Controller::new(f1.memory());
        let mut random = 1u64;
        let mut now = Picoseconds::ZERO;
        let mut done = 0;
        for step in 0..200_000u64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            now += Picoseconds::new(4000);
            // Streams, with an occasional access elsewhere, in phases of reads, writes and both.
            let write = match step >> 14 & 3 {
                0 => false,
                1 => true,
                _ => random >> 20 & 1 != 0,
            };
            let place = if random % 16 == 0 { random >> 30 } else { step };
            if random >> 8 & 7 == 0 && channel.can_accept(write) {
                let access = Access {
                    token: 0,
                    offset: (place & 0xffff) << 8 | u64::from(write) << 26,
                    rows: 1 + (random >> 12 & 7) as u16,
                    write,
                };
                channel.push(now, access);
            }
            done += u32::from(channel.pop_read(now).is_some());
            done += u32::from(channel.pop_write(now).is_some());
        }
        assert!(done > 20_000, "{done}");
    }
}
