//! Reports of where the time went: human-readable text, and JSON.

use card::Statistics;
use pager::{Occupied, SpaceStatistics};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};
use units::{Asid, CardDescription, MemoryKind, Picoseconds, SlotSchedule};

/// Activity of memory that programs share with kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingReport {
    /// Program accesses that waited because a page was on the card.
    pub traps: u64,
    /// Pages to which the card, with read access, gained write access, without a data transfer.
    pub upgraded: u64,
    /// Pages owned by the card that the program may read again.
    pub shared: u64,
    /// Pages that left the card and belong to the program alone again.
    pub returned: u64,
    /// Threads that were trapped and are no participants: the time of their accesses is not deterministic, so the
    /// following figures may differ from run to run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub free_threads: u64,
    /// Virtual time of the service thread for traps and protection; only with a host file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protect_time: Picoseconds,
}

/// Maximum number of blocks that the text lists as moving to and fro, and of places in each.
const PING_PONGS: usize = 3;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A block of shared memory whose pages move to and fro: the program waited for one of them more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingPong {
    /// First address of the block.
    pub address: u64,
    /// Size of the block, in bytes.
    pub bytes: u64,
    /// Page size, in bytes.
    pub page: u64,
    /// Number of times that the program waited for its pages.
    pub traps: u64,
    /// Pages for which the program waited more than once.
    pub pages: u64,
    /// Offset in the block of the page for which the program waited most often.
    pub worst_offset: u64,
    /// Number of times that the program waited for that page.
    pub worst_traps: u64,
    /// Places in the program that waited for a page repeatedly, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<TrapPlace>,
}

/// A place in a program whose accesses waited repeatedly for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapPlace {
    /// `FILE:LINE`, if the code was compiled with line tables (`-g`); else its function, or its address in its file.
    pub place: String,
    /// Number of waits there.
    pub traps: u64,
}

/// Activity of the pager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PagingReport {
    /// Faults that reached the host.
    pub faults: u64,
    /// Virtual time with at least one access waiting for the host; zero on a card without time.
    #[serde(default)]
    pub fault_time: Picoseconds,
    /// Pages filled from files.
    pub pages_read: u64,
    /// Pages zeroed on the card instead of read.
    pub pages_zeroed: u64,
    /// Pages written back.
    pub pages_written: u64,
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Bytes written to files.
    pub bytes_written: u64,
    /// Pages evicted to make room for others.
    pub evictions: u64,
    /// Pages evicted without a write-back, because they were clean.
    pub pages_dropped_clean: u64,
    /// Faults found by look-ahead.
    pub faults_ahead: u64,
    /// Table entries that made room for others of their set.
    pub set_conflicts: u64,
    /// Pages that stayed in host memory, if there were any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub direct: DirectReport,
    /// Bytes preloaded on the card (zero-cost, `Mapping::make_hot`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub made_hot: u64,
    /// Shared memory, if there was any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sharing: SharingReport,
    /// Shared memory that moves to and fro, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ping_pong: Vec<PingPong>,
}

impl PagingReport {
    /// The counts of spaces.
    pub(crate) fn of(spaces: &SpaceStatistics) -> Self {
        Self {
            faults: spaces.faults,
            pages_read: spaces.pages_read,
            pages_zeroed: spaces.pages_zeroed,
            pages_written: spaces.pages_written,
            bytes_read: spaces.bytes_read,
            bytes_written: spaces.bytes_written,
            evictions: spaces.evictions,
            pages_dropped_clean: spaces.pages_dropped_clean,
            faults_ahead: spaces.faults_ahead,
            set_conflicts: spaces.set_conflicts,
            direct: DirectReport {
                pages: spaces.direct.pages,
                bytes: spaces.direct.bytes,
                pages_written: spaces.direct.written,
            },
            sharing: SharingReport {
                traps: spaces.shared.traps,
                upgraded: spaces.shared.upgraded,
                shared: spaces.shared.shared,
                returned: spaces.shared.returned,
                ..SharingReport::default()
            },
            ..Self::default()
        }
    }
}

/// Pages that kernels accessed in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectReport {
    /// Pages filled from files.
    pub pages: u64,
    /// Bytes of files in them.
    pub bytes: u64,
    /// Pages written back to files.
    pub pages_written: u64,
}

/// One run of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Number of the slot.
    pub slot: u8,
    /// From start to done, in virtual time; zero on a card without time.
    #[serde(default)]
    pub time: Picoseconds,
    /// Clock cycles from start to done; zero on a card without time.
    #[serde(default)]
    pub cycles: u64,
}

/// A slot's scheduled share of card memory, and its actual use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotShare {
    /// Number of the slot.
    pub slot: u8,
    /// Its last schedule.
    pub schedule: SlotSchedule,
    /// Bytes of the rows that its ports read.
    pub bytes_read: u64,
    /// Bytes of the rows that its ports wrote.
    pub bytes_written: u64,
}

/// Waits of the kernels of one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceReport {
    /// Number of the space.
    pub asid: u8,
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, faults found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, faults on a page that was already on its way.
    pub faults_joined: u64,
    /// Of these, faults on a page that was already on the card.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Bytes read from files for pages that this space requested first.
    #[serde(default)]
    pub bytes_read: u64,
    /// Bytes of such pages that were written to files.
    #[serde(default)]
    pub bytes_written: u64,
    /// Virtual time of the finished runs of its kernels, from start to done; the sum over concurrent runs.
    #[serde(default)]
    pub run_time: Picoseconds,
    /// Card memory that is filled on behalf of the space now, in bytes.
    pub bytes_on_card: u64,
    /// First channel and number of channels of an isolated space, at present.
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolated: Option<(usize, usize)>,
}

impl SpaceReport {
    pub(crate) fn new(
        (asid, counted, occupied): (Asid, SpaceStatistics, Occupied),
        run_time: Picoseconds,
    ) -> Self {
        let (bytes_on_card, channels) = occupied;
        Self {
            asid: asid.get(),
            faults: counted.faults,
            faults_ahead: counted.faults_ahead,
            faults_joined: counted.faults_joined,
            faults_resident: counted.faults_resident,
            accesses_failed: counted.accesses_failed,
            bytes_read: counted.bytes_read,
            bytes_written: counted.bytes_written,
            run_time,
            bytes_on_card,
            isolated: channels.map(|channels| (channels.start, channels.len())),
        }
    }
}

/// Platform, preset and host file of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The platform's name and the hash of its file; empty without a platform.
    pub platform: String,
    /// See `platform`.
    pub platform_hash: String,
    /// Name of the preset with which the card was opened; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preset: String,
    /// Why this preset was chosen; empty if it was requested by name. Not part of the hash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preset_chosen: String,
    /// The name of the host file and the hash of its bytes; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// See `host`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host_hash: String,
}

/// Everything that a run reports. On a card without time, times are zero, and JSON and text leave them out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Report {
    /// Description of the card.
    pub card: CardDescription,
    /// Platform, preset and host file.
    #[serde(flatten)]
    pub setup: Setup,
    /// How files are read and written. Not part of the hash.
    pub file_io: String,
    /// Virtual time since the card was opened; zero on a card without time.
    #[serde(default)]
    pub time: Picoseconds,
    /// Runs of kernels, in order of their ends.
    pub runs: Vec<RunReport>,
    /// Pages, faults and shared memory, over all spaces.
    pub paging: PagingReport,
    /// Counters of the card.
    pub statistics: Statistics,
    /// Name of each port of the card: its slot, and the kernel and the port that it carried last.
    #[serde(default)]
    pub ports: Vec<String>,
    /// XXH3 (128 bits) over the bytes that moved between files and the card, with direction and place, in order. Part
    /// of the hash, which therefore covers the results that were written back. Only for a card in virtual time:
    /// elsewhere the order differs in every run, and the field is empty and left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bytes_hash: String,
    /// Advice to the user on configuration.
    pub notes: Vec<String>,
    /// The paging of each file, with its reason. Not part of the hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Address spaces, by number; a closed one stays until its number is reused. Not part of the hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spaces: Vec<SpaceReport>,
    /// Slots, if one has a schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<SlotShare>,
    /// Work of the host in this run without a cost in virtual time, besides preloading ([`PagingReport::made_hot`]).
    /// Only for a card in virtual time. Not part of the hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_included: Vec<String>,
}

/// JSON fields that only a card with time has. The card's counters (`statistics`) are zero without a clock.
const TIMES: [&str; 5] = ["time", "cycles", "fault_time", "run_time", "protect_time"];

/// Removes the times from a report's JSON.
fn strip_times(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(fields) => {
            fields.retain(|name, _| !TIMES.contains(&name.as_str()));
            let others = fields.iter_mut().filter(|(name, _)| *name != "statistics");
            others.for_each(|(_, value)| strip_times(value));
        }
        serde_json::Value::Array(all) => all.iter_mut().for_each(strip_times),
        _ => {}
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.has_time() {
            return Self::serialize(self, serializer);
        }
        let json = Self::serialize(self, serde_json::value::Serializer);
        let mut json = json.map_err(serde::ser::Error::custom)?;
        strip_times(&mut json);
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Report {
    /// Whether the card has a clock. The functional card has none: it only has an order of events.
    pub fn has_time(&self) -> bool {
        self.card.clock_period > Picoseconds::ZERO
    }

    /// Whether traffic at ports, channels and link is counted: on a simulated card and on a functional one. On a real
    /// card only the shell's registers count.
    fn is_observed(&self) -> bool {
        !self.has_time() || self.statistics.cycles > 0
    }

    /// Clears the step count that a card without time keeps for deadlines: no figure of a report depends on it.
    pub(crate) fn without_invented_time(mut self) -> Self {
        if self.has_time() {
            return self;
        }
        self.time = Picoseconds::ZERO;
        for run in &mut self.runs {
            (run.time, run.cycles) = (Picoseconds::ZERO, 0);
        }
        self.paging.fault_time = Picoseconds::ZERO;
        for space in &mut self.spaces {
            space.run_time = Picoseconds::ZERO;
        }
        self
    }

    /// Lists what costs no virtual time.
    pub(crate) fn with_not_included(mut self) -> Self {
        if !self.has_time() || !self.is_observed() {
            return self;
        }
        let paging = &self.paging;
        let sharing = &paging.sharing;
        let trapped = sharing.traps + sharing.returned > 0;
        let files = paging.bytes_read + paging.bytes_written > 0;
        let all = [
            (true, "interrupts (the host polls)".to_owned()),
            (true, "map and unmap".to_owned()),
            (files, "submission of file I/O to Linux".to_owned()),
            (
                paging.bytes_written > 0,
                "making files durable (fdatasync)".to_owned(),
            ),
            (
                trapped && self.setup.host.is_empty(),
                "page protection and traps of shared memory (no host file)".to_owned(),
            ),
        ];
        let all = all.into_iter().filter(|(happened, _)| *happened);
        self.not_included = all.map(|(_, what)| what).collect();
        self
    }

    /// SHA-256 over the parts that must be equal on every machine: everything except the way of file I/O, the texts on
    /// policies, on the choice of a preset and on costs that are not included, the counts of each space, and the number of cycles that the simulator
    /// could not skip.
    pub fn hash(&self) -> String {
        let mut same = self.clone();
        same.file_io.clear();
        same.policies.clear();
        same.not_included.clear();
        same.setup.preset_chosen.clear();
        same.spaces.clear();
        same.statistics.evaluated_cycles = 0;
        // A report has only strings, numbers and lists, so it always serializes.
        let json = serde_json::to_vec(&same).unwrap_or_default();
        Sha256::digest(&json)
            .iter()
            .fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            })
    }

    /// Payload bytes that crossed the slot boundary, (read, written).
    pub fn kernel_bytes(&self) -> (u64, u64) {
        let bytes = |parity: usize| -> u64 {
            self.statistics
                .requesters
                .iter()
                .skip(parity)
                .step_by(2)
                .map(|requester| requester.bytes)
                .sum()
        };
        (bytes(0), bytes(1))
    }

    /// Beats that kernels wrote without a strobe, and all beats that they wrote.
    fn blank_rows(&self) -> (u64, u64) {
        let requesters = &self.statistics.requesters;
        let writes = requesters.iter().skip(1).step_by(2);
        writes.fold((0, 0), |(blank, rows), requester| {
            (blank + requester.blank_rows, rows + requester.rows)
        })
    }

    /// The kind of memory of a channel, on a card with several kinds.
    fn memory_of(&self, channel: usize) -> Option<MemoryKind> {
        let all = &self.card.memories;
        let one = units::memories::of_channel(all, channel.try_into().ok()?)?;
        (all.len() > 1).then_some(one.kind)
    }

    /// Writes the bytes that kernels read and wrote; with time, also the throughput.
    fn write_kernel_bytes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, written) = self.kernel_bytes();
        let seconds = self.run_time().as_seconds();
        let of = |count| match self.has_time() {
            true => format!("{} ({})", bytes(count), rate(count, seconds)),
            false => bytes(count),
        };
        write!(f, "  kernel read {}, wrote {}", of(read), of(written))?;
        match self.blank_rows() {
            (0, _) => writeln!(f),
            (blank, rows) if blank == rows => {
                writeln!(f, ", every beat of it without a strobe: no byte changed")
            }
            (blank, rows) => writeln!(f, ", {blank} of {rows} beats without a strobe"),
        }
    }

    fn write_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let observed = self.is_observed();
        let kind = if observed { "virtual" } else { "real" };
        writeln!(f, "where the time went ({kind} time; parts overlap)")?;
        let total = self.time;
        let link = &self.statistics.link;
        let host = &self.statistics.host;
        let rows: [(&str, Picoseconds); 7] = [
            ("kernels running", self.run_time()),
            ("kernels waiting for pages", self.paging.fault_time),
            ("PCIe, host to card", link.busy_to_card),
            ("PCIe, card to host", link.busy_to_host),
            ("host: page-cache copies", host.copy_busy),
            ("host: storage", host.storage_busy),
            ("host: fault service", host.service_busy),
        ];
        // The other counts come from models.
        let known = if observed { rows.len() } else { 2 };
        for (name, time) in &rows[..known] {
            let time = *time;
            writeln!(
                f,
                "  {name:<28}{:>12}  {:>5.1} %",
                time.to_string(),
                share(time, total)
            )?;
        }
        writeln!(f, "  {:<28}{:>12}", "all", total.to_string())
    }

    fn run_time(&self) -> Picoseconds {
        self.runs
            .iter()
            .fold(Picoseconds::ZERO, |sum, run| sum + run.time)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed = self.has_time();
        let observed = self.is_observed();
        for run in &self.runs {
            write!(f, "kernel {} in slot {}: ", run.kernel, run.slot)?;
            match timed {
                true if observed => writeln!(f, "{} ({} cycles)", run.time, run.cycles)?,
                true => writeln!(f, "{}", run.time)?,
                false => writeln!(f, "done")?,
            }
        }
        if !self.setup.preset.is_empty() {
            writeln!(
                f,
                "  preset {} on platform {}",
                self.setup.preset, self.setup.platform
            )?;
            if !self.setup.preset_chosen.is_empty() {
                writeln!(f, "  chosen: {}", self.setup.preset_chosen)?;
            }
        }
        if observed {
            self.write_kernel_bytes(f)?;
        }
        let link = &self.statistics.link;
        if timed {
            self.write_times(f)?;
        }
        let sharing = self.paging.sharing;
        if !is_default(&sharing) {
            writeln!(
                f,
                "shared memory: {} traps of the program; {} pages upgraded, {} shared again, {} returned",
                sharing.traps, sharing.upgraded, sharing.shared, sharing.returned
            )?;
            if sharing.free_threads > 1 {
                writeln!(
                    f,
                    "  {} threads that are no participants were trapped: another run may differ",
                    sharing.free_threads
                )?;
            }
        }
        for block in self.paging.ping_pong.iter().take(PING_PONGS) {
            writeln!(
                f,
                "  {} at 0x{:x}, pages of {}: waited for {} times, for {} pages more than once, for that at \
                 offset 0x{:x} {} times",
                bytes(block.bytes),
                block.address,
                bytes(block.page),
                block.traps,
                block.pages,
                block.worst_offset,
                block.worst_traps
            )?;
            for at in block.places.iter().take(PING_PONGS) {
                writeln!(f, "    {} times at {}", at.traps, at.place)?;
            }
        }
        let paging = &self.paging;
        writeln!(
            f,
            "paging: {} faults, {} pages read, {} zeroed, {} written back, {} evicted",
            paging.faults,
            paging.pages_read,
            paging.pages_zeroed,
            paging.pages_written,
            paging.evictions
        )?;
        if paging.made_hot > 0 {
            writeln!(
                f,
                "  hot: {} were put on the card beforehand, without the time that loading takes",
                bytes(paging.made_hot)
            )?;
        }
        let direct = paging.direct;
        if !is_default(&direct) {
            writeln!(
                f,
                "  direct: {} pages ({}) stayed in host memory, {} written back from there",
                direct.pages,
                bytes(direct.bytes),
                direct.pages_written
            )?;
        }
        // A single space has waited for the whole total.
        let several = self.spaces.len() > 1;
        let shown = |space: &&SpaceReport| several || space.isolated.is_some();
        for space in self.spaces.iter().filter(shown) {
            write!(
                f,
                "  space {}: {} faults ({} ahead, {} joined a page on its way, {} found it on the card), {} accesses \
                 failed, {} read and {} written for it, {}{} on the card",
                space.asid,
                space.faults,
                space.faults_ahead,
                space.faults_joined,
                space.faults_resident,
                space.accesses_failed,
                bytes(space.bytes_read),
                bytes(space.bytes_written),
                match timed {
                    true => format!("kernels ran {}, ", space.run_time),
                    false => String::new(),
                },
                bytes(space.bytes_on_card)
            )?;
            match space.isolated {
                None => writeln!(f)?,
                Some((first, 1)) => writeln!(f, ", isolated on channel {first}")?,
                Some((first, channels)) => {
                    let last = first + channels - 1;
                    writeln!(f, ", isolated on channels {first} to {last}")?;
                }
            }
        }
        let sum = |field: fn(&card::RequesterStatistics) -> u64| -> u64 {
            self.statistics.requesters.iter().map(field).sum()
        };
        writeln!(
            f,
            "translation: {} L1 hits, {} misses, {} walks found a page, {} did not, {} retries",
            sum(|s| s.l1_hits),
            sum(|s| s.l1_misses),
            sum(|s| s.walk_hits),
            sum(|s| s.walk_misses),
            sum(|s| s.retries)
        )?;
        writeln!(
            f,
            "DMA: {} to the card, {} to the host, {} zeroed on the card",
            bytes(link.bytes_to_card),
            bytes(link.bytes_to_host),
            bytes(link.rows_zeroed * units::ROW_BYTES)
        )?;
        let cycles = self.statistics.cycles;
        for (number, channel) in self.statistics.channels.iter().enumerate() {
            let kind = self
                .memory_of(number)
                .map_or_else(String::new, |kind| format!(" ({kind})"));
            write!(
                f,
                "channel {number}{kind}: {} read, {} written",
                bytes(channel.rows_read * units::ROW_BYTES),
                bytes(channel.rows_written * units::ROW_BYTES),
            )?;
            let busy = 100.0 * channel.busy_cycles as f64 / cycles.max(1) as f64;
            match timed {
                true => writeln!(f, ", data bus of the controller busy {busy:.1} %")?,
                false => writeln!(f)?,
            }
        }
        let changes = self.statistics.owner_changes;
        if !changes.is_none() {
            writeln!(
                f,
                "slots: the next row was another slot's {} times in reads, {} in writes",
                changes.reads, changes.writes
            )?;
        }
        for (number, requester) in self.statistics.requesters.iter().enumerate() {
            if requester.bursts == 0 {
                continue;
            }
            write!(
                f,
                "{} {}: {} bursts, {} beats",
                self.ports.get(number / 2).map_or("a port", String::as_str),
                if number % 2 == 0 { "reads" } else { "writes" },
                requester.bursts,
                requester.rows,
            )?;
            match timed {
                true => writeln!(
                    f,
                    "; cycles stalled: {} by the shell, {} by the kernel",
                    requester.shell_stall_cycles, requester.kernel_stall_cycles
                )?,
                false => writeln!(f)?,
            }
        }
        for share in self.shares.iter().filter(|_| observed) {
            writeln!(
                f,
                "slot {} ({}): {} read, {} written",
                share.slot,
                share.schedule,
                bytes(share.bytes_read),
                bytes(share.bytes_written)
            )?;
        }
        for policy in &self.policies {
            writeln!(f, "paged: {policy}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        if !self.not_included.is_empty() {
            writeln!(f, "not in these times: {}", self.not_included.join(", "))?;
        }
        match timed {
            true if !observed => {}
            true => write!(
                f,
                "{} cycles, {} of them skipped as idle; ",
                cycles,
                cycles.saturating_sub(self.statistics.evaluated_cycles),
            )?,
            false => write!(f, "a functional card: no time; ")?,
        }
        let hash = self.hash();
        write!(f, "files through {}; report {}", self.file_io, &hash[..16])
    }
}

fn share(part: Picoseconds, all: Picoseconds) -> f64 {
    100.0 * part.get() as f64 / all.get().max(1) as f64
}

/// A number of bytes, human-readable, in binary units.
pub fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..0x10_0000 => format!("{:.1} KiB", count as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", count as f64 / 1_073_741_824.0),
    }
}

fn rate(count: u64, seconds: f64) -> String {
    if seconds > 0.0 {
        format!("{:.2} GB/s", count as f64 / seconds * 1e-9)
    } else {
        "no time".to_owned()
    }
}
