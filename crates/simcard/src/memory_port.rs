//! A memory channel seen from the shell: an AXI4 subordinate in front of a timing model.
//!
//! Data are stored when the shell transfers them, so a read that starts after a write's response
//! sees them. Rows of reads are taken from the store when they are transferred. The timing model
//! gives the time, this port the data. One row per cycle and direction.

use super::bus::{response, Finder, ManagerBus};
use super::model::Instance;
use super::store::Store;
use super::surrounding::{HostPath, Surrounding};
use card::CardError;
use card::ChannelStatistics;
use std::collections::VecDeque;
use timing::dram::{Access, MemoryChannel};
use units::Picoseconds;
use verilated::BuildError;

/// Maximum number of bursts whose addresses are accepted ahead of their data.
const WRITE_ADDRESSES: usize = 4;

/// A burst with an accepted address and outstanding data.
#[derive(Clone, Copy, Debug)]
struct AcceptedBurst {
    offset: u64,
    rows: u16,
    /// Number of rows transferred over the bus.
    done: u16,
    /// Outside the existing memory.
    error: bool,
}

impl AcceptedBurst {
    fn access(&self, write: bool) -> Access {
        Access {
            token: 0,
            offset: self.offset,
            rows: self.rows,
            write,
        }
    }
}

/// One channel.
pub(crate) struct MemoryPort {
    bus: ManagerBus,
    store: Store,
    model: Box<dyn MemoryChannel + Send>,
    /// Reads in order; the first one is being answered.
    reads: VecDeque<AcceptedBurst>,
    /// A read for which the model has no room.
    read_waits: Option<Access>,
    /// Writes whose data are being received, in order.
    writes: VecDeque<AcceptedBurst>,
    /// A write with all its data, for which the model has no room.
    write_waits: Option<Access>,
    /// For each unanswered write, in order: whether it failed.
    answers: VecDeque<bool>,
    /// The row, and the write response, on the bus were accepted at this edge.
    row_taken: bool,
    answer_taken: bool,
    /// No access is under way, and the shell's inputs are idle.
    at_rest: bool,
    /// Time before which the model returns nothing.
    model_wakes: Picoseconds,
    statistics: ChannelStatistics,
}

impl MemoryPort {
    pub(crate) fn new(
        shell: &Instance,
        channel: u32,
        store: Store,
        model: Box<dyn MemoryChannel + Send>,
    ) -> Result<Self, BuildError> {
        let bus = ManagerBus::find(&Finder {
            shell,
            prefix: "mem",
            element: channel,
        })?;
        Ok(Self {
            bus,
            store,
            model,
            reads: VecDeque::with_capacity(256),
            read_waits: None,
            writes: VecDeque::with_capacity(WRITE_ADDRESSES),
            write_waits: None,
            answers: VecDeque::with_capacity(256),
            row_taken: false,
            answer_taken: false,
            at_rest: false,
            model_wakes: Picoseconds::MAX,
            statistics: ChannelStatistics::default(),
        })
    }

    /// Writes bytes to the memory at zero cost. Returns false if the range does not exist.
    pub(crate) fn preload(&mut self, offset: u64, bytes: &[u8]) -> bool {
        self.store.put(offset, bytes)
    }

    fn burst(&self, offset: u64, len: u8) -> AcceptedBurst {
        let rows = u16::from(len) + 1;
        AcceptedBurst {
            offset,
            rows,
            done: 0,
            error: !self.store.holds(offset, rows.into()),
        }
    }

    fn take_write_row(&mut self) {
        let Some(burst) = self.writes.front_mut() else {
            debug_assert!(false, "wready without an address");
            return;
        };
        if !burst.error {
            let offset = burst.offset + u64::from(burst.done) * 64;
            self.store
                .write_row(offset, &self.bus.wdata, self.bus.wstrb.get());
        }
        self.statistics.rows_written += 1;
        burst.done += 1;
        debug_assert_eq!(self.bus.wlast.high(), burst.done == burst.rows, "wlast");
        if burst.done == burst.rows {
            let burst = *burst;
            self.writes.pop_front();
            self.answers.push_back(burst.error);
            self.write_waits = (!burst.error).then(|| burst.access(true));
        }
    }

    /// Samples the transfers at this edge.
    fn take(&mut self, now: Picoseconds) {
        self.at_rest = false;
        self.row_taken = self.bus.rvalid.high() && self.bus.rready.high();
        self.answer_taken = self.bus.bvalid.high() && self.bus.bready.high();
        self.statistics.rows_read += u64::from(self.row_taken);
        let write_row = self.bus.wvalid.high() && self.bus.wready.high();
        if write_row {
            self.take_write_row();
        }
        self.statistics.busy_cycles += u64::from(self.row_taken || write_row);
        if self.bus.arvalid.high() && self.bus.arready.high() {
            let burst = self.burst(self.bus.araddr.get(), self.bus.arlen.get());
            self.reads.push_back(burst);
            self.read_waits = (!burst.error).then(|| burst.access(false));
        }
        if self.bus.awvalid.high() && self.bus.awready.high() {
            let burst = self.burst(self.bus.awaddr.get(), self.bus.awlen.get());
            self.writes.push_back(burst);
        }
        self.push_to_model(now);
    }

    fn push_to_model(&mut self, now: Picoseconds) {
        let mut pushed = false;
        for waits in [&mut self.read_waits, &mut self.write_waits] {
            if waits
                .as_ref()
                .is_some_and(|access| self.model.can_accept(access.write))
            {
                if let Some(access) = waits.take() {
                    self.model.push(now, access);
                    pushed = true;
                }
            }
        }
        if pushed {
            self.model_wakes = self.model.next_event().unwrap_or(Picoseconds::MAX);
        }
    }

    fn answer(&mut self, now: Picoseconds) -> bool {
        let mut changed = false;
        let mut popped = false;
        if !self.bus.rvalid.high() {
            if let Some(burst) = self.reads.front_mut() {
                let ready = if burst.error {
                    true
                } else {
                    popped = now >= self.model_wakes;
                    popped && self.model.pop_read(now).is_some()
                };
                if ready {
                    let offset = burst.offset + u64::from(burst.done) * 64;
                    if burst.error {
                        self.bus.rdata.set([0; 64]);
                        self.bus.rresp.set(response::DECODE_ERROR);
                    } else {
                        self.store.read_row(offset, &self.bus.rdata);
                        self.bus.rresp.set(response::OKAY);
                    }
                    burst.done += 1;
                    let last = burst.done == burst.rows;
                    self.bus.rlast.set(last.into());
                    self.bus.rvalid.set(1);
                    if last {
                        self.reads.pop_front();
                    }
                    changed = true;
                }
            }
        }
        if !self.bus.bvalid.high() {
            if let Some(&error) = self.answers.front() {
                let ready = if error {
                    true
                } else {
                    let may = now >= self.model_wakes;
                    popped |= may;
                    may && self.model.pop_write(now).is_some()
                };
                if ready {
                    let code = if error {
                        response::DECODE_ERROR
                    } else {
                        response::OKAY
                    };
                    self.bus.bresp.set(code);
                    self.bus.bvalid.set(1);
                    self.answers.pop_front();
                    changed = true;
                }
            }
        }
        if popped {
            self.model_wakes = self.model.next_event().unwrap_or(Picoseconds::MAX);
        }
        changed
    }

    pub(crate) fn statistics(&self) -> ChannelStatistics {
        ChannelStatistics {
            activations: self.model.activations(),
            refreshes: self.model.refreshes(),
            ..self.statistics.clone()
        }
    }
}

impl Surrounding for MemoryPort {
    #[inline]
    fn sample(&mut self, now: Picoseconds, _: &mut HostPath<'_>) -> Result<bool, CardError> {
        // At rest, nothing is offered to the shell.
        let used = if self.at_rest {
            self.bus.any_offered()
        } else {
            self.bus.any_valid()
        };
        if !used {
            return Ok(false);
        }
        self.take(now);
        Ok(true)
    }

    #[inline]
    fn drive(&mut self, now: Picoseconds) -> bool {
        if self.at_rest {
            return false;
        }
        let mut changed = false;
        if self.row_taken {
            self.row_taken = false;
            changed |= self.bus.rvalid.set(0);
        }
        if self.answer_taken {
            self.answer_taken = false;
            changed |= self.bus.bvalid.set(0);
        }
        if self.read_waits.is_some() || self.write_waits.is_some() {
            self.push_to_model(now);
        }
        if !self.reads.is_empty() || !self.answers.is_empty() {
            changed |= self.answer(now);
        }
        let addresses = self.writes.len() < WRITE_ADDRESSES;
        let data = !self.writes.is_empty() && self.write_waits.is_none();
        changed |= self.bus.arready.set(self.read_waits.is_none().into());
        changed |= self.bus.awready.set(addresses.into());
        changed |= self.bus.wready.set(data.into());
        let waits = self.read_waits.is_some() || self.write_waits.is_some();
        self.at_rest = !changed
            && !waits
            && self.reads.is_empty()
            && self.answers.is_empty()
            && !self.bus.rvalid.high()
            && !self.bus.bvalid.high();
        changed
    }

    fn next_event(&self, _: Picoseconds) -> Option<Picoseconds> {
        let waits = self.read_waits.is_some() || self.write_waits.is_some();
        let error_read = self.reads.front().is_some_and(|burst| burst.error);
        let error_write = self.answers.front().is_some_and(|&error| error);
        if waits || error_read || error_write {
            return Some(Picoseconds::ZERO);
        }
        (self.model_wakes != Picoseconds::MAX).then_some(self.model_wakes)
    }
}
