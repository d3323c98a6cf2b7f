//! Register accesses of the host: an AXI4-Lite manager that executes them in order.

use super::bus::Finder;
use super::model::{Instance, NumberPin, Pin};
use super::surrounding::{HostPath, Surrounding};
use card::guard::SlotNotes;
use card::CardError;
use std::collections::VecDeque;
use units::Picoseconds;
use verilated::BuildError;

/// Maximum number of refused writes that are kept.
const REFUSED_WRITES: usize = 64;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Write(u32),
    Read,
}

/// An access in flight to the BAR.
#[derive(Clone, Copy, Debug)]
struct Access {
    arrives: Picoseconds,
    address: u32,
    kind: Kind,
}

/// The answer to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadAnswer {
    pub(crate) at: Picoseconds,
    pub(crate) value: u32,
    pub(crate) error: bool,
    /// State of the slot, for a read in a slot's window.
    pub(crate) notes: SlotNotes,
}

/// The manager at the shell's BAR.
pub(crate) struct BarPort {
    awaddr: NumberPin,
    awvalid: Pin<u8>,
    awready: Pin<u8>,
    wdata: NumberPin,
    wstrb: NumberPin,
    wvalid: Pin<u8>,
    wready: Pin<u8>,
    bresp: Pin<u8>,
    bvalid: Pin<u8>,
    bready: Pin<u8>,
    araddr: NumberPin,
    arvalid: Pin<u8>,
    arready: Pin<u8>,
    rdata: NumberPin,
    rresp: Pin<u8>,
    ruser: Pin<u8>,
    rvalid: Pin<u8>,
    rready: Pin<u8>,
    queue: VecDeque<Access>,
    current: Option<Access>,
    /// Handshakes at this edge.
    address_taken: bool,
    data_taken: bool,
    finished: bool,
    /// The answer to the last read, until it is fetched.
    answer: Option<ReadAnswer>,
    /// Addresses of writes with an error response; the first ones since the last query.
    pub(crate) refused_writes: Vec<u32>,
}

impl BarPort {
    pub(crate) fn new(shell: &Instance) -> Result<Self, BuildError> {
        let find = Finder {
            shell,
            prefix: "bar",
            element: 0,
        };
        Ok(Self {
            awaddr: find.number("awaddr_i")?,
            awvalid: find.pin("awvalid_i")?,
            awready: find.pin("awready_o")?,
            wdata: find.number("wdata_i")?,
            wstrb: find.number("wstrb_i")?,
            wvalid: find.pin("wvalid_i")?,
            wready: find.pin("wready_o")?,
            bresp: find.pin("bresp_o")?,
            bvalid: find.pin("bvalid_o")?,
            bready: find.pin("bready_i")?,
            araddr: find.number("araddr_i")?,
            arvalid: find.pin("arvalid_i")?,
            arready: find.pin("arready_o")?,
            rdata: find.number("rdata_o")?,
            rresp: find.pin("rresp_o")?,
            ruser: find.pin("ruser_o")?,
            rvalid: find.pin("rvalid_o")?,
            rready: find.pin("rready_i")?,
            queue: VecDeque::with_capacity(64),
            current: None,
            address_taken: false,
            data_taken: false,
            finished: false,
            answer: None,
            refused_writes: Vec::new(),
        })
    }

    /// Queues a write that reaches the BAR at `arrives`.
    pub(crate) fn write(&mut self, arrives: Picoseconds, address: u32, value: u32) {
        self.queue.push_back(Access {
            arrives,
            address,
            kind: Kind::Write(value),
        });
    }

    /// Queues a read that reaches the BAR at `arrives`.
    pub(crate) fn read(&mut self, arrives: Picoseconds, address: u32) {
        self.queue.push_back(Access {
            arrives,
            address,
            kind: Kind::Read,
        });
    }

    /// Takes the answer to the read, once it has arrived.
    pub(crate) fn take_answer(&mut self) -> Option<ReadAnswer> {
        self.answer.take()
    }

    pub(crate) fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    fn begin(&mut self) -> bool {
        match self.current {
            Some(Access {
                address,
                kind: Kind::Write(value),
                ..
            }) => {
                self.awaddr.set(address.into());
                self.wdata.set(value.into());
                self.wstrb.set(0xf);
                self.awvalid.set(1) | self.wvalid.set(1) | self.bready.set(1)
            }
            Some(Access {
                address,
                kind: Kind::Read,
                ..
            }) => {
                self.araddr.set(address.into());
                self.arvalid.set(1) | self.rready.set(1)
            }
            None => false,
        }
    }

    /// Whether an access is under way or queued.
    pub(crate) fn is_busy(&self) -> bool {
        self.current.is_some() || !self.queue.is_empty()
    }
}

impl Surrounding for BarPort {
    fn sample(&mut self, now: Picoseconds, _: &mut HostPath<'_>) -> Result<bool, CardError> {
        let Some(access) = self.current else {
            return Ok(false);
        };
        match access.kind {
            Kind::Write(_) => {
                self.address_taken = self.awvalid.high() && self.awready.high();
                self.data_taken = self.wvalid.high() && self.wready.high();
                if self.bvalid.high() && self.bready.high() {
                    self.finished = true;
                    if self.bresp.get() > 1 {
                        // Bounded, so that a host that never queries them costs no memory.
                        if self.refused_writes.len() < REFUSED_WRITES {
                            self.refused_writes.push(access.address);
                        }
                    }
                }
            }
            Kind::Read => {
                self.address_taken = self.arvalid.high() && self.arready.high();
                if self.rvalid.high() && self.rready.high() {
                    self.finished = true;
                    self.answer = Some(ReadAnswer {
                        at: now,
                        value: self.rdata.get() as u32,
                        error: self.rresp.get() > 1,
                        notes: SlotNotes::from_user_bits(self.ruser.get()),
                    });
                }
            }
        }
        Ok(true)
    }

    fn drive(&mut self, now: Picoseconds) -> bool {
        let mut changed = false;
        if self.current.is_some() {
            if self.address_taken {
                changed |= self.awvalid.set(0) | self.arvalid.set(0);
            }
            if self.data_taken {
                changed |= self.wvalid.set(0);
            }
            if self.finished {
                changed |= self.bready.set(0) | self.rready.set(0);
                self.current = None;
            }
            (self.address_taken, self.data_taken, self.finished) = (false, false, false);
        }
        if self.current.is_none() && self.queue.front().is_some_and(|next| next.arrives <= now) {
            self.current = self.queue.pop_front();
            changed |= self.begin();
        }
        changed
    }

    fn next_event(&self, _: Picoseconds) -> Option<Picoseconds> {
        match self.current {
            Some(_) => None,
            None => self.queue.front().map(|access| access.arrives),
        }
    }
}
