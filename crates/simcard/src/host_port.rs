//! Host memory seen from the shell: an AXI4 subordinate behind the model of the PCIe link.
//!
//! Reads are answered in order, with the bytes in host memory at their arrival. Writes are posted: answered when the
//! link has accepted them, visible to the host at the time given by the link, never out of order. An unmapped address
//! gets an error response.

use super::bus::{response, Finder, ManagerBus};
use super::model::{Instance, Pin, Row};
use super::store::merge;
use super::surrounding::{HostPath, Surrounding};
use card::memory::HostMemory;
use card::CardError;
use std::collections::VecDeque;
use std::sync::Arc;
use timing::pcie::{Link, Transfer};
use units::Picoseconds;
use verilated::BuildError;

/// Maximum number of outstanding reads.
const READS: usize = 64;
/// Maximum number of bursts whose addresses are accepted ahead of their data.
const WRITE_ADDRESSES: usize = 4;
/// Maximum number of posted rows that wait for the link, before back-pressure to the shell.
const POSTED_ROWS: usize = 256;

struct ReadBurst {
    id: u8,
    /// Memory and offset of the bytes; `None` for an error.
    source: Option<(Arc<HostMemory>, usize)>,
    rows: u16,
    done: u16,
    transfer: Transfer,
}

impl ReadBurst {
    /// Time at which the next row is available: the first with the first completion, the last with the last.
    fn next_row_at(&self) -> Picoseconds {
        if self.done + 1 == self.rows {
            return self.transfer.last;
        }
        let span = (self.transfer.last - self.transfer.first).get();
        let share = span * u64::from(self.done) / u64::from(self.rows - 1);
        self.transfer.first + Picoseconds::new(share)
    }
}

/// A write whose data are being received.
struct Write {
    id: u8,
    target: Option<(Arc<HostMemory>, usize)>,
    rows: u16,
    done: u16,
}

/// A write in flight to host memory.
struct Posted {
    target: Option<(Arc<HostMemory>, usize)>,
    rows: u16,
    visible: Picoseconds,
}

struct WriteResponse {
    id: u8,
    code: u8,
    at: Picoseconds,
}

/// The host side of the shell.
pub(crate) struct HostPort {
    bus: ManagerBus,
    arid: Pin<u8>,
    rid: Pin<u8>,
    awid: Pin<u8>,
    bid: Pin<u8>,
    reads: VecDeque<ReadBurst>,
    writes: VecDeque<Write>,
    posted: VecDeque<Posted>,
    /// Rows and strobes of `writes` and `posted`, in order.
    rows: VecDeque<(Row, u64)>,
    answers: VecDeque<WriteResponse>,
    row_taken: bool,
    answer_taken: bool,
    /// No access is under way, and the shell's inputs are idle.
    at_rest: bool,
    /// Payload bytes, for the statistics.
    pub(crate) bytes_to_card: u64,
    /// Payload bytes, for the statistics.
    pub(crate) bytes_to_host: u64,
}

impl HostPort {
    pub(crate) fn new(shell: &Instance) -> Result<Self, BuildError> {
        let find = Finder {
            shell,
            prefix: "host",
            element: 0,
        };
        Ok(Self {
            bus: ManagerBus::find(&find)?,
            arid: find.pin("arid_o")?,
            rid: find.pin("rid_i")?,
            awid: find.pin("awid_o")?,
            bid: find.pin("bid_i")?,
            reads: VecDeque::with_capacity(READS),
            writes: VecDeque::with_capacity(WRITE_ADDRESSES),
            posted: VecDeque::with_capacity(POSTED_ROWS),
            rows: VecDeque::with_capacity(2 * POSTED_ROWS),
            answers: VecDeque::with_capacity(POSTED_ROWS),
            row_taken: false,
            answer_taken: false,
            at_rest: false,
            bytes_to_card: 0,
            bytes_to_host: 0,
        })
    }

    fn take_write_row(&mut self, now: Picoseconds, link: &mut dyn Link) {
        let Some(write) = self.writes.front_mut() else {
            debug_assert!(false, "wready without an address");
            return;
        };
        self.rows
            .push_back((self.bus.wdata.get(), self.bus.wstrb.get()));
        write.done += 1;
        debug_assert_eq!(self.bus.wlast.high(), write.done == write.rows, "wlast");
        if write.done < write.rows {
            return;
        }
        let Some(write) = self.writes.pop_front() else {
            return;
        };
        let bytes = u64::from(write.rows) * 64;
        let transfer = link.write_host(now, bytes);
        self.bytes_to_host += bytes;
        let code = match write.target {
            Some(_) => response::OKAY,
            None => response::DECODE_ERROR,
        };
        self.answers.push_back(WriteResponse {
            id: write.id,
            code,
            at: transfer.first,
        });
        self.posted.push_back(Posted {
            target: write.target,
            rows: write.rows,
            visible: transfer.last,
        });
    }

    /// Executes the writes to host memory that are visible at `now`. Called before the host reads its memory.
    #[inline]
    pub(crate) fn make_visible(&mut self, now: Picoseconds) {
        while self
            .posted
            .front()
            .is_some_and(|posted| posted.visible <= now)
        {
            let Some(posted) = self.posted.pop_front() else {
                return;
            };
            let rows = self.rows.drain(..usize::from(posted.rows));
            let Some((memory, offset)) = posted.target else {
                continue;
            };
            for (index, (row, strobe)) in rows.enumerate() {
                write_host_row(&memory, offset + index * 64, &row, strobe);
            }
        }
    }

    fn drive_inputs(&mut self, now: Picoseconds) -> bool {
        let mut changed = false;
        self.make_visible(now);
        if self.row_taken {
            self.row_taken = false;
            changed |= self.bus.rvalid.set(0);
        }
        if self.answer_taken {
            self.answer_taken = false;
            changed |= self.bus.bvalid.set(0);
        }
        if !self.bus.rvalid.high() {
            if let Some(read) = self
                .reads
                .front_mut()
                .filter(|read| read.next_row_at() <= now)
            {
                let mut row = [0; 64];
                let offset = usize::from(read.done) * 64;
                let got = match &read.source {
                    Some((memory, start)) => memory.read(start + offset, &mut row).is_ok(),
                    None => false,
                };
                let code = if got {
                    response::OKAY
                } else {
                    response::DECODE_ERROR
                };
                self.bus.rdata.set(row);
                self.bus.rresp.set(code);
                self.rid.set(read.id);
                read.done += 1;
                let last = read.done == read.rows;
                self.bus.rlast.set(last.into());
                self.bus.rvalid.set(1);
                if last {
                    self.reads.pop_front();
                }
                changed = true;
            }
        }
        if !self.bus.bvalid.high() {
            if let Some(answer) = self.answers.front().filter(|answer| answer.at <= now) {
                self.bid.set(answer.id);
                self.bus.bresp.set(answer.code);
                self.bus.bvalid.set(1);
                self.answers.pop_front();
                changed = true;
            }
        }
        let data = !self.writes.is_empty() && self.rows.len() < POSTED_ROWS;
        changed |= self.bus.arready.set((self.reads.len() < READS).into());
        changed |= self
            .bus
            .awready
            .set((self.writes.len() < WRITE_ADDRESSES).into());
        changed |= self.bus.wready.set(data.into());
        self.at_rest = !changed
            && self.reads.is_empty()
            && self.answers.is_empty()
            && self.posted.is_empty()
            && !self.bus.rvalid.high()
            && !self.bus.bvalid.high();
        changed
    }

    /// Unmaps memory: writes in flight to it are dropped, and outstanding reads from it get an error.
    pub(crate) fn forget(&mut self, memory: &Arc<HostMemory>) {
        let sources = self.reads.iter_mut().map(|read| &mut read.source);
        let writes = self.writes.iter_mut().map(|write| &mut write.target);
        let posted = self.posted.iter_mut().map(|posted| &mut posted.target);
        for place in sources.chain(writes).chain(posted) {
            if place
                .as_ref()
                .is_some_and(|(other, _)| Arc::ptr_eq(other, memory))
            {
                *place = None;
            }
        }
    }

    /// Whether writes are in flight to the host.
    pub(crate) fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }
}

/// Writes a row into host memory, bytewise if strobes are missing.
fn write_host_row(memory: &HostMemory, offset: usize, row: &Row, strobe: u64) {
    // The range was checked when the address was accepted, and the memory is kept alive since.
    let written = if strobe == u64::MAX {
        memory.write_row(offset, row)
    } else {
        let mut merged = [0; 64];
        memory.read(offset, &mut merged).and_then(|()| {
            merge(&mut merged, row, strobe);
            memory.write(offset, &merged)
        })
    };
    debug_assert!(written.is_ok());
}

impl Surrounding for HostPort {
    fn sample(&mut self, now: Picoseconds, path: &mut HostPath<'_>) -> Result<bool, CardError> {
        let used = if self.at_rest {
            self.bus.any_offered()
        } else {
            self.bus.any_valid()
        };
        if !used {
            return Ok(false);
        }
        self.at_rest = false;
        self.row_taken = self.bus.rvalid.high() && self.bus.rready.high();
        self.answer_taken = self.bus.bvalid.high() && self.bus.bready.high();
        if self.bus.wvalid.high() && self.bus.wready.high() {
            self.take_write_row(now, path.link);
        }
        if self.bus.arvalid.high() && self.bus.arready.high() {
            let rows = u16::from(self.bus.arlen.get()) + 1;
            let bytes = u64::from(rows) * 64;
            let source = path.map.find(self.bus.araddr.get(), bytes);
            self.bytes_to_card += bytes;
            self.reads.push_back(ReadBurst {
                id: self.arid.get(),
                source: source.map(|(memory, offset)| (memory.clone(), offset)),
                rows,
                done: 0,
                transfer: path.link.read_host(now, bytes),
            });
        }
        if self.bus.awvalid.high() && self.bus.awready.high() {
            let rows = u16::from(self.bus.awlen.get()) + 1;
            let target = path.map.find(self.bus.awaddr.get(), u64::from(rows) * 64);
            self.writes.push_back(Write {
                id: self.awid.get(),
                target: target.map(|(memory, offset)| (memory.clone(), offset)),
                rows,
                done: 0,
            });
        }
        Ok(true)
    }

    #[inline]
    fn drive(&mut self, now: Picoseconds) -> bool {
        !self.at_rest && self.drive_inputs(now)
    }

    fn next_event(&self, _: Picoseconds) -> Option<Picoseconds> {
        let read = self.reads.front().map(ReadBurst::next_row_at);
        let answer = self.answers.front().map(|answer| answer.at);
        // Room for write data is freed when posted rows become visible.
        let room = match self.rows.len() < POSTED_ROWS {
            true => None,
            false => self.posted.front().map(|posted| posted.visible),
        };
        [read, answer, room].into_iter().flatten().min()
    }
}
