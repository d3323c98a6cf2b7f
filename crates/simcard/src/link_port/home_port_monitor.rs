//! Observes the boundary between directory and kernel, for the history of lines.

use crate::bus::Finder;
use crate::model::{Instance, Pin};
use card::history::{History, Party, Step};
use std::collections::HashMap;
use units::line::{PlainLine, BYTES};
use units::Picoseconds;
use verilated::BuildError;

const OPERATIONS: [&str; 6] = [
    "clean",
    "clean-invalidate",
    "lock",
    "unlock",
    "read",
    "write",
];

/// Valid and ready pin of a handshake.
struct Handshake {
    valid: Pin<u8>,
    ready: Pin<u8>,
}

impl Handshake {
    fn happens(&self) -> bool {
        self.valid.high() && self.ready.high()
    }
}

/// One home port and its line operations.
pub(super) struct HomePortMonitor {
    read: Handshake,
    read_id: Pin<u16>,
    read_address: Pin<u64>,
    row: Handshake,
    row_id: Pin<u16>,
    row_last: Pin<u8>,
    write: Handshake,
    write_id: Pin<u16>,
    write_address: Pin<u64>,
    done: Handshake,
    done_id: Pin<u16>,
    request: Handshake,
    request_last: Pin<u8>,
    operation: Pin<u8>,
    request_tag: Pin<u8>,
    line: Pin<u64>,
    acknowledge: Handshake,
    acknowledge_tag: Pin<u8>,
    acknowledge_last: Pin<u8>,
    reads: HashMap<u16, PlainLine>,
    writes: HashMap<u16, PlainLine>,
    operations: HashMap<u8, (PlainLine, &'static str)>,
}

impl HomePortMonitor {
    pub(super) fn new(shell: &Instance, element: u32) -> Result<Self, BuildError> {
        let home = Finder {
            shell,
            prefix: "home",
            element,
        };
        let line = Finder {
            shell,
            prefix: "line",
            element,
        };
        // `own`: the shell drives valid.
        let pair = |find: &Finder<'_>, valid: &str, ready: &str, own: bool| {
            let (out, back) = if own { ("o", "i") } else { ("i", "o") };
            Ok::<_, BuildError>(Handshake {
                valid: find.pin(&format!("{valid}_{out}"))?,
                ready: find.pin(&format!("{ready}_{back}"))?,
            })
        };
        Ok(Self {
            read: pair(&home, "arvalid", "arready", true)?,
            read_id: home.pin("arid_o")?,
            read_address: home.pin("araddr_o")?,
            row: pair(&home, "rvalid", "rready", false)?,
            row_id: home.pin("rid_i")?,
            row_last: home.pin("rlast_i")?,
            write: pair(&home, "awvalid", "awready", true)?,
            write_id: home.pin("awid_o")?,
            write_address: home.pin("awaddr_o")?,
            done: pair(&home, "bvalid", "bready", false)?,
            done_id: home.pin("bid_i")?,
            request: pair(&line, "req_valid", "req_ready", false)?,
            request_last: line.pin("req_last_i")?,
            operation: line.pin("req_operation_i")?,
            request_tag: line.pin("req_tag_i")?,
            line: line.pin("req_line_i")?,
            acknowledge: pair(&line, "ack_valid", "ack_ready", true)?,
            acknowledge_tag: line.pin("ack_tag_o")?,
            acknowledge_last: line.pin("ack_last_o")?,
            reads: HashMap::new(),
            writes: HashMap::new(),
            operations: HashMap::new(),
        })
    }

    /// Samples the pins before the edge.
    pub(super) fn sample(&mut self, at: Picoseconds, period: Picoseconds, history: &mut History) {
        let mut say = |to_kernel: bool, what: &str, line: PlainLine, data: bool| {
            let (from, to) = match to_kernel {
                true => (Party::Directory, Party::Kernel),
                false => (Party::Kernel, Party::Directory),
            };
            history.add(Step {
                sent: at,
                arrived: at + period,
                from,
                to,
                what: what.to_owned(),
                line,
                data,
            });
        };
        if self.read.happens() {
            let line = PlainLine(self.read_address.get() / BYTES);
            self.reads.insert(self.read_id.get(), line);
            say(true, "read", line, false);
        }
        if self.row.happens() && self.row_last.high() {
            if let Some(line) = self.reads.remove(&self.row_id.get()) {
                say(false, "answer", line, true);
            }
        }
        if self.write.happens() {
            let line = PlainLine(self.write_address.get() / BYTES);
            self.writes.insert(self.write_id.get(), line);
            say(true, "write", line, true);
        }
        if self.done.happens() {
            if let Some(line) = self.writes.remove(&self.done_id.get()) {
                say(false, "written", line, false);
            }
        }
        if self.request.happens() && self.request_last.high() {
            let line = PlainLine(self.line.get());
            let name = OPERATIONS
                .get(usize::from(self.operation.get()))
                .copied()
                .unwrap_or("unknown operation");
            self.operations.insert(self.request_tag.get(), (line, name));
            say(false, name, line, false);
        }
        if self.acknowledge.happens() && self.acknowledge_last.high() {
            let found = self.operations.remove(&self.acknowledge_tag.get());
            if let Some((line, name)) = found {
                say(true, &format!("{name} done"), line, false);
            }
        }
    }
}
