//! Counters of the slots' ports, updated at each edge.

use super::bus::Finder;
use super::model::{Instance, Pin};
use card::RequesterStatistics;
use verilated::BuildError;

/// One port of a slot, both directions.
pub(crate) struct PortObserver {
    arvalid: Pin<u8>,
    arready: Pin<u8>,
    arlen: Pin<u8>,
    arsize: Pin<u8>,
    rvalid: Pin<u8>,
    rready: Pin<u8>,
    awvalid: Pin<u8>,
    awready: Pin<u8>,
    awlen: Pin<u8>,
    awsize: Pin<u8>,
    wvalid: Pin<u8>,
    wready: Pin<u8>,
    wstrb: Pin<u64>,
    /// Rows of accepted bursts that have not been transferred. Write data may precede their address.
    reads_open: u64,
    writes_open: i64,
    read: RequesterStatistics,
    write: RequesterStatistics,
}

impl PortObserver {
    pub(crate) fn new(shell: &Instance, port: u32) -> Result<Self, BuildError> {
        let find = Finder {
            shell,
            prefix: "port",
            element: port,
        };
        Ok(Self {
            arvalid: find.pin("arvalid_i")?,
            arready: find.pin("arready_o")?,
            arlen: find.pin("arlen_i")?,
            arsize: find.pin("arsize_i")?,
            rvalid: find.pin("rvalid_o")?,
            rready: find.pin("rready_i")?,
            awvalid: find.pin("awvalid_i")?,
            awready: find.pin("awready_o")?,
            awlen: find.pin("awlen_i")?,
            awsize: find.pin("awsize_i")?,
            wvalid: find.pin("wvalid_i")?,
            wready: find.pin("wready_o")?,
            wstrb: find.pin("wstrb_i")?,
            reads_open: 0,
            writes_open: 0,
            read: RequesterStatistics::default(),
            write: RequesterStatistics::default(),
        })
    }

    /// Counts `edges` edges with the present pins; more than one only while there is no handshake.
    /// Returns whether a row was read, and whether one was written.
    #[inline]
    pub(crate) fn observe(&mut self, edges: u64) -> [bool; 2] {
        [self.observe_reads(edges), self.observe_writes(edges)]
    }

    #[inline]
    fn observe_reads(&mut self, edges: u64) -> bool {
        let rows = self.read.rows;
        if self.reads_open != 0 {
            match (self.rvalid.high(), self.rready.high()) {
                (true, true) => {
                    self.read.rows += 1;
                    self.reads_open -= 1;
                }
                (true, false) => self.read.kernel_stall_cycles += edges,
                (false, _) => self.read.shell_stall_cycles += edges,
            }
        }
        if self.arvalid.high() {
            if self.arready.high() {
                self.read.bursts += 1;
                let beats = u64::from(self.arlen.get()) + 1;
                self.reads_open += beats;
                self.read.bytes += beats << self.arsize.get();
            } else {
                self.read.address_stall_cycles += edges;
            }
        }
        self.read.rows != rows
    }

    #[inline]
    fn observe_writes(&mut self, edges: u64) -> bool {
        let rows = self.write.rows;
        let (offered, taken) = (self.wvalid.high(), self.wready.high());
        if offered && taken {
            self.write.rows += 1;
            self.write.blank_rows += u64::from(self.wstrb.get() == 0);
            self.writes_open -= 1;
        } else if offered {
            self.write.shell_stall_cycles += edges;
        } else if self.writes_open > 0 {
            self.write.kernel_stall_cycles += edges;
        }
        if self.awvalid.high() {
            if self.awready.high() {
                self.write.bursts += 1;
                let beats = i64::from(self.awlen.get()) + 1;
                self.writes_open += beats;
                self.write.bytes += (beats as u64) << self.awsize.get();
            } else {
                self.write.address_stall_cycles += edges;
            }
        }
        self.write.rows != rows
    }

    /// Drops the open bursts of a slot that was reset.
    pub(crate) fn forget(&mut self) {
        self.reads_open = 0;
        self.writes_open = 0;
    }

    /// Whether a row has been transferred.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.read.rows + self.write.rows > 0
    }

    /// Counters of reads and of writes so far.
    pub(crate) fn statistics(&self) -> (&RequesterStatistics, &RequesterStatistics) {
        (&self.read, &self.write)
    }
}

/// Context switches: how often the next row over the slot boundary belongs to another slot, in each
/// direction.
#[derive(Default)]
pub(crate) struct OwnerObserver {
    last: [Option<u32>; 2],
    changes: [u64; 2],
}

impl OwnerObserver {
    /// Records that a slot's ports have read or written a row.
    #[inline]
    pub(crate) fn observe(&mut self, slot: u32, moved: [bool; 2]) {
        for (direction, moved) in moved.into_iter().enumerate() {
            if moved && self.last[direction] != Some(slot) {
                self.changes[direction] += u64::from(self.last[direction].is_some());
                self.last[direction] = Some(slot);
            }
        }
    }

    /// Context switches of reads and of writes.
    pub(crate) fn changes(&self) -> [u64; 2] {
        self.changes
    }
}

/// One stream pair of a slot. A packet counts as a burst, a beat as a row.
pub(crate) struct StreamObserver {
    into: DirectionObserver,
    out: DirectionObserver,
}

/// One direction. Stalls count from the first offered beat of a packet to its last accepted one.
struct DirectionObserver {
    keep: Pin<u64>,
    last: Pin<u8>,
    valid: Pin<u8>,
    ready: Pin<u8>,
    /// The kernel is the manager.
    from_kernel: bool,
    open: bool,
    counts: RequesterStatistics,
}

impl DirectionObserver {
    fn new(shell: &Instance, pair: u32, from_kernel: bool) -> Result<Self, BuildError> {
        let (prefix, manager, subordinate) = match from_kernel {
            true => ("sout", "i", "o"),
            false => ("sin", "o", "i"),
        };
        let find = Finder {
            shell,
            prefix,
            element: pair,
        };
        Ok(Self {
            keep: find.pin(&format!("tkeep_{manager}"))?,
            last: find.pin(&format!("tlast_{manager}"))?,
            valid: find.pin(&format!("tvalid_{manager}"))?,
            ready: find.pin(&format!("tready_{subordinate}"))?,
            from_kernel,
            open: false,
            counts: RequesterStatistics::default(),
        })
    }

    #[inline]
    fn observe(&mut self, edges: u64) {
        let valid = self.valid.high();
        self.open |= valid;
        if !self.open {
            return;
        }
        match (valid, self.ready.high()) {
            (true, true) => {
                self.counts.rows += 1;
                self.counts.bytes += u64::from(self.keep.get().count_ones());
                if self.last.high() {
                    self.counts.bursts += 1;
                    self.open = false;
                }
            }
            (valid, _) if valid == self.from_kernel => self.counts.shell_stall_cycles += edges,
            _ => self.counts.kernel_stall_cycles += edges,
        }
    }
}

impl StreamObserver {
    pub(crate) fn new(shell: &Instance, pair: u32) -> Result<Self, BuildError> {
        Ok(Self {
            into: DirectionObserver::new(shell, pair, false)?,
            out: DirectionObserver::new(shell, pair, true)?,
        })
    }

    /// As [`PortObserver::observe`].
    #[inline]
    pub(crate) fn observe(&mut self, edges: u64) {
        self.into.observe(edges);
        self.out.observe(edges);
    }

    /// Drops the open packets of a slot that was reset.
    pub(crate) fn forget(&mut self) {
        self.into.open = false;
        self.out.open = false;
    }

    /// Counters of the streams into the kernel and out of it so far.
    pub(crate) fn statistics(&self) -> (&RequesterStatistics, &RequesterStatistics) {
        (&self.into.counts, &self.out.counts)
    }
}
