//! The figures of a platform, and the rules that each must obey.

use super::{broken, Broken};
use serde::Deserialize;
use units::{Picoseconds, ServiceEvents};

/// Maximum banks of a channel.
pub const MAX_BANKS: usize = 16;

/// A clock: period and phase, so that domains can be added later without a change of format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Time between rising edges.
    pub period_ps: Picoseconds,
    /// Time of the first rising edge.
    pub phase_ps: Picoseconds,
}

/// Kind of a channel's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// DDR4 on a 64-bit channel: a row of 64 bytes is one burst of eight.
    Ddr4,
    /// HBM2 pseudo-channel: a row of 64 bytes is two bursts of four.
    Hbm2,
}

/// A memory of the card: `channels` equal channels.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Number of channels (pseudo-channels of HBM) of the platform.
    pub channels: u32,
    /// Bytes of one channel.
    pub channel_bytes: u64,
    /// Mapping of addresses to the devices.
    pub address: AddressMap,
    /// Timing of the devices.
    pub timing: MemoryTiming,
    /// The controller in front of them.
    pub controller: ControllerFigures,
}

/// Address mapping of a channel. From the lowest bit: 64-byte row offset, bank group, column, bank, DRAM row; the bank
/// is then XORed with the folded DRAM row. Platforms with another mapping set these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressMap {
    /// Number of bank groups.
    pub bank_groups: u32,
    /// Number of banks of a group.
    pub banks_per_group: u32,
    /// Bytes of a DRAM row (page) over the channel's width.
    pub page_bytes: u32,
    /// log2 of the rows of 64 bytes of a bank group that come before the next group: with 1, both halves of a line of
    /// 128 bytes are in one page.
    #[serde(default)]
    pub group_interleave_log2: u32,
    /// log2 of the rows of 64 bytes of a bank that come before the next bank; without it, the whole page.
    #[serde(default)]
    pub bank_interleave_log2: Option<u32>,
    /// The bank is given by its address bits, without the XOR.
    #[serde(default)]
    pub plain_banks: bool,
}

/// Constraints of the devices, in their clocks, named as in the JEDEC standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryTiming {
    /// Period of the device clock (two data beats).
    pub clock_ps: Picoseconds,
    /// Clocks of data of one column command: half the burst length.
    pub burst: u64,
    /// Column commands that move one row of 64 bytes.
    pub columns_per_row: u32,
    /// RD to its first data.
    pub cl: u64,
    /// WR to its first data.
    pub cwl: u64,
    /// ACT to RD or WR.
    pub rcd: u64,
    /// PRE to ACT or REF.
    pub rp: u64,
    /// ACT to PRE.
    pub ras: u64,
    /// Column command to column command, another bank group.
    pub ccd_s: u64,
    /// Column command to column command, same bank group.
    pub ccd_l: u64,
    /// ACT to ACT, another bank group.
    pub rrd_s: u64,
    /// ACT to ACT, same bank group.
    pub rrd_l: u64,
    /// Window that holds at most four ACT.
    pub faw: u64,
    /// End of write data to RD, another bank group.
    pub wtr_s: u64,
    /// End of write data to RD, same bank group.
    pub wtr_l: u64,
    /// End of write data to PRE.
    pub wr: u64,
    /// RD to PRE.
    pub rtp: u64,
    /// Idle clocks of the data bus between read data and write data.
    pub rtw_gap: u64,
    /// REF to REF.
    pub refi: u64,
    /// REF to ACT.
    pub rfc: u64,
}

/// The memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerFigures {
    /// Maximum outstanding reads (bursts) at the user side.
    pub read_accesses: u32,
    /// Maximum outstanding writes (bursts) at the user side.
    pub write_accesses: u32,
    /// Rows of reads in the scheduler's window, at most 64.
    pub read_queue: u32,
    /// Rows of writes that the controller holds, at most 64.
    pub write_queue: u32,
    /// Number of waiting rows of writes that starts a drain.
    pub drain_start: u32,
    /// Rows written in one drain (and read between two) while both directions wait.
    pub drain_batch: u32,
    /// Clocks without a read after which writes are served although there are few.
    pub drain_idle: u64,
    /// Maximum column commands that may overtake the oldest row of a queue.
    pub bypass_limit: u32,
    /// Latency from the user side to the scheduler.
    pub request_ps: Picoseconds,
    /// Latency from the last read data on the pins to the user side.
    pub response_ps: Picoseconds,
    /// Latency from a write's entry into the queue to its response.
    pub write_response_ps: Picoseconds,
    /// A bank closes with the last of its contiguous rows (`bank_interleave_log2`).
    #[serde(default)]
    pub auto_precharge: bool,
    /// If set, each bank group serves its rows in order, with this many clocks from the column command of a row to the
    /// next ACT or PRE of its group. Otherwise rows are chosen over all banks.
    #[serde(default)]
    pub group_gap: Option<u64>,
}

/// Figures of the PCIe link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcieFigures {
    /// Bytes per second and direction on the wire, after line coding.
    pub wire_bytes_per_second: u64,
    /// Bytes of a packet in addition to its payload: framing, sequence number, header, CRC.
    pub tlp_overhead: u64,
    /// Bytes of link packets (acknowledgements, credits) per packet.
    pub link_overhead: u64,
    /// Maximum payload of a posted write in bytes.
    pub max_payload: u64,
    /// Maximum bytes of a read request.
    pub max_read_request: u64,
    /// Bytes of a completion of a read: the read completion boundary or a multiple of it.
    pub completion_bytes: u64,
    /// Maximum read requests in flight (tags).
    pub read_tags: u32,
    /// Maximum posted packets of the card in flight (credits).
    pub posted_credits: u32,
    /// From the departure of a posted packet to the return of its credit.
    pub credit_return_ps: Picoseconds,
    /// Latency from card to host, without serialisation.
    pub to_host_ps: Picoseconds,
    /// Latency from host to card, without serialisation.
    pub to_card_ps: Picoseconds,
    /// From the arrival of a read request at the host to its data.
    pub host_read_ps: Picoseconds,
    /// From the arrival of a posted write at the host to its visibility.
    pub host_write_ps: Picoseconds,
    /// The processor's cost of one register access, before the packet leaves.
    pub register_ps: Picoseconds,
}

/// Figures of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFigures {
    /// Service thread: cost of a batch of events.
    pub service_batch_ps: Picoseconds,
    /// Service thread: cost of each event of a batch.
    pub service_event_ps: Picoseconds,
    /// Service thread: cost of a fault, if it is not that of every event.
    #[serde(default)]
    pub service_fault_ps: Option<Picoseconds>,
    /// Number of service threads.
    #[serde(default = "one_thread")]
    pub service_threads: u32,
    /// From a record in host memory to user code that polls for it.
    pub wake_ps: Picoseconds,
    /// Number of threads that copy between page cache and buffers.
    pub copy_threads: u32,
    /// Bytes per second that each of them copies.
    pub copy_bytes_per_second: u64,
    /// Set-up time of a copy.
    pub copy_setup_ps: Picoseconds,
    /// Storage: read bandwidth in bytes per second.
    pub storage_read_bytes_per_second: u64,
    /// Storage: write bandwidth in bytes per second.
    pub storage_write_bytes_per_second: u64,
    /// Storage: latency of a read.
    pub storage_read_ps: Picoseconds,
    /// Storage: latency of a write.
    pub storage_write_ps: Picoseconds,
    /// Storage: maximum requests in flight.
    pub storage_queue: u32,
    /// Partial reconfiguration: time to load another kernel into a slot. Zero if there is no figure.
    #[serde(default)]
    pub reconfigure_ps: Picoseconds,
}

/// A coherent link between CPU and card, both directions alike.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFigures {
    /// Idle round trip.
    pub round_trip_ps: u64,
    /// Bandwidth of line data per direction, after framing.
    pub payload_bytes_per_second: u64,
    /// Wire rate, for messages without data.
    pub header_bytes_per_second: u64,
    /// Maximum messages in flight on a channel without data.
    pub header_credits: usize,
    /// Maximum messages in flight on a channel with data.
    pub data_credits: usize,
    /// Maximum lead of a sender over the wire.
    pub transmit_ps: u64,
    /// Range of the random spread of arrivals.
    pub jitter_ps: u64,
}

/// The CPU of a coherent platform.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuFigures {
    /// Last-level cache: capacity in bytes.
    pub cache_bytes: u64,
    /// Last-level cache: associativity.
    pub cache_ways: usize,
    /// Ways of a set that are emptied before a miss needs them.
    pub evict_ahead: usize,
    /// Maximum accesses that all cores together start in a clock of the card.
    pub accesses_per_cycle: usize,
    /// Latency of a core's access that hits the last-level cache.
    pub cache_hit_ps: Picoseconds,
    /// First-level cache of a core: capacity in bytes.
    pub l1_bytes: u64,
    /// Latency of a core's access that hits it.
    pub l1_hit_ps: Picoseconds,
    /// Maximum outstanding requests per slice of the directory: above 32, the link's header and the directory use six
    /// bits for their number.
    #[serde(default = "five_bits")]
    pub request_ids: u8,
    /// The CPU's own home directory and memory: from a request's arrival to its response.
    #[serde(default = "second_cpu")]
    pub home_ps: Picoseconds,
}

/// Default: the second CPU of the paper's baseline, where a dependent load takes 268 ns \[fit\] (CCKit, table 2).
fn second_cpu() -> Picoseconds {
    Picoseconds::new(49_000)
}

fn five_bits() -> u8 {
    32
}

fn one_thread() -> u32 {
    1
}

/// Maximum time of a figure: one second. Keeps every sum far from overflow.
const LONGEST: Picoseconds = Picoseconds::new(1_000_000_000_000);

impl LinkFigures {
    pub(super) fn check(&self) -> Result<(), Broken> {
        for (name, value, most) in [
            ("round_trip_ps", self.round_trip_ps, LONGEST.get()),
            (
                "payload_bytes_per_second",
                self.payload_bytes_per_second,
                1 << 50,
            ),
            (
                "header_bytes_per_second",
                self.header_bytes_per_second,
                1 << 50,
            ),
            ("header_credits", self.header_credits as u64, 1 << 16),
            ("data_credits", self.data_credits as u64, 1 << 16),
        ] {
            let key = format!("link.{name}");
            range(
                key,
                value,
                1,
                most,
                "must be above zero, and no absurd number",
            )?;
        }
        for (name, value) in [
            ("transmit_ps", self.transmit_ps),
            ("jitter_ps", self.jitter_ps),
        ] {
            let key = format!("link.{name}");
            range(key, value, 0, LONGEST.get(), "must be at most one second")?;
        }
        Ok(())
    }
}

impl CpuFigures {
    pub(super) fn check(&self) -> Result<(), Broken> {
        let ways = self.cache_ways as u64;
        range("cpu.cache_ways", ways, 1, 64, "must be from 1 to 64")?;
        let sets = self.cache_bytes / 128 / ways;
        if sets == 0 || !sets.is_power_of_two() || sets * ways * 128 != self.cache_bytes {
            return Err(broken(
                "cpu.cache_bytes",
                self.cache_bytes,
                "must be 128 bytes times cpu.cache_ways times a power of two",
            ));
        }
        let rule = "must be less than cpu.cache_ways";
        range(
            "cpu.evict_ahead",
            self.evict_ahead as u64,
            0,
            ways - 1,
            rule,
        )?;
        range(
            "cpu.l1_bytes",
            self.l1_bytes,
            128,
            1 << 30,
            "must be at least a line",
        )?;
        for (name, value) in [
            ("cpu.cache_hit_ps", self.cache_hit_ps),
            ("cpu.l1_hit_ps", self.l1_hit_ps),
        ] {
            range(name, value.get(), 1, LONGEST.get(), "must be above zero")?;
        }
        let ids = u64::from(self.request_ids);
        range("cpu.request_ids", ids, 1, 64, "must be from 1 to 64")?;
        let starts = self.accesses_per_cycle as u64;
        range(
            "cpu.accesses_per_cycle",
            starts,
            1,
            64,
            "must be from 1 to 64",
        )
    }
}

impl Clock {
    pub(super) fn check(&self) -> Result<(), Broken> {
        period("clock.period_ps", self.period_ps)?;
        if self.phase_ps >= self.period_ps {
            return Err(broken(
                "clock.phase_ps",
                self.phase_ps.get(),
                "must be less than clock.period_ps",
            ));
        }
        Ok(())
    }
}

impl Memory {
    pub(super) fn check(&self, key: &str) -> Result<(), Broken> {
        let at = |name: &str| format!("{key}.{name}");
        range(
            at("channels"),
            u64::from(self.channels),
            1,
            64,
            "must be from 1 to 64",
        )?;
        if !self.channel_bytes.is_power_of_two() || !(20..=37).contains(&self.channel_bits()) {
            return Err(broken(
                at("channel_bytes"),
                self.channel_bytes,
                "must be a power of two from 1 MiB to 128 GiB",
            ));
        }
        self.address.check(&at("address"))?;
        let interleave = u64::from(self.address.page_bytes) * u64::from(self.address.banks());
        if self.channel_bytes < interleave {
            return Err(broken(
                at("channel_bytes"),
                self.channel_bytes,
                "must hold one page of every bank",
            ));
        }
        self.timing.check(&at("timing"))?;
        self.controller.check(&at("controller"))
    }

    /// log2 of the bytes of a channel.
    pub const fn channel_bits(&self) -> u32 {
        self.channel_bytes.trailing_zeros()
    }

    /// Bytes per second on the pins of one channel.
    pub fn pin_bytes_per_second(&self) -> f64 {
        let row_clocks = self.timing.burst * u64::from(self.timing.columns_per_row);
        units::ROW_BYTES as f64 / (self.timing.clock_ps * row_clocks).as_seconds()
    }
}

impl AddressMap {
    /// Number of banks of a channel.
    pub const fn banks(&self) -> u32 {
        self.bank_groups * self.banks_per_group
    }

    fn check(&self, key: &str) -> Result<(), Broken> {
        let rule = "must be 1, 2, 4 or 8";
        for (name, value) in [
            ("bank_groups", self.bank_groups),
            ("banks_per_group", self.banks_per_group),
        ] {
            if !value.is_power_of_two() || value > 8 {
                return Err(broken(format!("{key}.{name}"), value, rule));
            }
        }
        if self.banks() > MAX_BANKS as u32 {
            return Err(broken(
                format!("{key}.banks_per_group"),
                self.banks_per_group,
                "bank groups times banks must be at most 16",
            ));
        }
        if !self.page_bytes.is_power_of_two() || !(512..=1 << 16).contains(&self.page_bytes) {
            return Err(broken(
                format!("{key}.page_bytes"),
                self.page_bytes,
                "must be a power of two from 512 to 65536",
            ));
        }
        let columns = self.page_bytes.trailing_zeros() - 6;
        if self.group_interleave_log2 > columns {
            return Err(broken(
                format!("{key}.group_interleave_log2"),
                self.group_interleave_log2,
                "must be at most log2 of the rows of 64 bytes of a page",
            ));
        }
        match self.bank_interleave_log2 {
            Some(rows) if rows > columns => Err(broken(
                format!("{key}.bank_interleave_log2"),
                rows,
                "must be at most log2 of the rows of 64 bytes of a page",
            )),
            _ => Ok(()),
        }
    }
}

impl MemoryTiming {
    fn check(&self, key: &str) -> Result<(), Broken> {
        let at = |name: &str| format!("{key}.{name}");
        period(at("clock_ps"), self.clock_ps)?;
        range(
            at("burst"),
            self.burst,
            1,
            16,
            "must be from 1 to 16 clocks",
        )?;
        let columns = u64::from(self.columns_per_row);
        range(at("columns_per_row"), columns, 1, 8, "must be from 1 to 8")?;
        for (name, value) in [
            ("cl", self.cl),
            ("cwl", self.cwl),
            ("rcd", self.rcd),
            ("rp", self.rp),
            ("ras", self.ras),
            ("faw", self.faw),
            ("wtr_s", self.wtr_s),
            ("wtr_l", self.wtr_l),
            ("wr", self.wr),
            ("rtp", self.rtp),
            ("rrd_s", self.rrd_s),
            ("rrd_l", self.rrd_l),
        ] {
            range(at(name), value, 1, 1000, "must be from 1 to 1000 clocks")?;
        }
        range(
            at("rtw_gap"),
            self.rtw_gap,
            0,
            100,
            "must be from 0 to 100 clocks",
        )?;
        if self.ccd_s < self.burst {
            return Err(broken(
                at("ccd_s"),
                self.ccd_s,
                "must be at least timing.burst, or data would overlap on the bus",
            ));
        }
        if self.ccd_l < self.ccd_s || self.ccd_l > 1000 {
            return Err(broken(
                at("ccd_l"),
                self.ccd_l,
                "must be from timing.ccd_s to 1000 clocks",
            ));
        }
        if self.rrd_l < self.rrd_s {
            return Err(broken(
                at("rrd_l"),
                self.rrd_l,
                "must be at least timing.rrd_s",
            ));
        }
        if self.wtr_l < self.wtr_s {
            return Err(broken(
                at("wtr_l"),
                self.wtr_l,
                "must be at least timing.wtr_s",
            ));
        }
        if self.cl + self.burst + self.rtw_gap < self.cwl {
            return Err(broken(
                at("cwl"),
                self.cwl,
                "must be at most timing.cl + timing.burst + timing.rtw_gap",
            ));
        }
        range(
            at("rfc"),
            self.rfc,
            1,
            10_000,
            "must be from 1 to 10000 clocks",
        )?;
        if self.refi < 2 * (self.rfc + self.ras + self.rp) || self.refi > 1_000_000 {
            return Err(broken(
                at("refi"),
                self.refi,
                "must be at least 2 (rfc + ras + rp), so that refresh leaves time, and at most 1000000",
            ));
        }
        Ok(())
    }
}

impl ControllerFigures {
    fn check(&self, key: &str) -> Result<(), Broken> {
        let at = |name: &str| format!("{key}.{name}");
        for (name, value) in [
            ("read_accesses", self.read_accesses),
            ("write_accesses", self.write_accesses),
        ] {
            range(
                at(name),
                u64::from(value),
                1,
                1024,
                "must be from 1 to 1024",
            )?;
        }
        for (name, value) in [
            ("read_queue", self.read_queue),
            ("write_queue", self.write_queue),
        ] {
            range(
                at(name),
                u64::from(value),
                1,
                64,
                "must be from 1 to 64 rows",
            )?;
        }
        if self.drain_start == 0 || self.drain_start > self.write_queue {
            return Err(broken(
                at("drain_start"),
                self.drain_start,
                "must be from 1 to controller.write_queue",
            ));
        }
        range(
            at("drain_batch"),
            u64::from(self.drain_batch),
            16,
            4096,
            "must be from 16 (time to change a DRAM row) to 4096 rows",
        )?;
        range(
            at("drain_idle"),
            self.drain_idle,
            0,
            100_000,
            "must be at most 100000 clocks",
        )?;
        range(
            at("bypass_limit"),
            u64::from(self.bypass_limit),
            1,
            1 << 20,
            "must be from 1 to 1048576",
        )?;
        if let Some(gap) = self.group_gap {
            range(at("group_gap"), gap, 0, 1000, "must be at most 1000 clocks")?;
        }
        time(at("request_ps"), self.request_ps)?;
        time(at("response_ps"), self.response_ps)?;
        time(at("write_response_ps"), self.write_response_ps)
    }
}

impl PcieFigures {
    pub(super) fn check(&self) -> Result<(), Broken> {
        rate("pcie.wire_bytes_per_second", self.wire_bytes_per_second)?;
        range(
            "pcie.tlp_overhead",
            self.tlp_overhead,
            0,
            256,
            "must be at most 256 bytes",
        )?;
        range(
            "pcie.link_overhead",
            self.link_overhead,
            0,
            256,
            "must be at most 256 bytes",
        )?;
        for (key, value) in [
            ("pcie.max_payload", self.max_payload),
            ("pcie.max_read_request", self.max_read_request),
        ] {
            if !value.is_power_of_two() || !(128..=4096).contains(&value) {
                return Err(broken(
                    key,
                    value,
                    "must be a power of two from 128 to 4096",
                ));
            }
        }
        let completion = self.completion_bytes;
        if !completion.is_power_of_two() || completion < 64 || completion > self.max_payload {
            return Err(broken(
                "pcie.completion_bytes",
                completion,
                "must be a power of two from 64 to pcie.max_payload",
            ));
        }
        for (key, value) in [
            ("pcie.read_tags", self.read_tags),
            ("pcie.posted_credits", self.posted_credits),
        ] {
            range(key, u64::from(value), 1, 4096, "must be from 1 to 4096")?;
        }
        time("pcie.credit_return_ps", self.credit_return_ps)?;
        time("pcie.to_host_ps", self.to_host_ps)?;
        time("pcie.to_card_ps", self.to_card_ps)?;
        time("pcie.host_read_ps", self.host_read_ps)?;
        time("pcie.host_write_ps", self.host_write_ps)?;
        time("pcie.register_ps", self.register_ps)
    }
}

impl HostFigures {
    /// Time that a service thread takes for a batch of events.
    pub fn service_time(&self, events: ServiceEvents) -> Picoseconds {
        let fault = self.service_fault_ps.unwrap_or(self.service_event_ps);
        self.service_batch_ps
            + fault * events.faults.into()
            + self.service_event_ps * events.others.into()
    }

    pub(super) fn check(&self) -> Result<(), Broken> {
        time("host.service_batch_ps", self.service_batch_ps)?;
        time("host.service_event_ps", self.service_event_ps)?;
        if let Some(fault) = self.service_fault_ps {
            time("host.service_fault_ps", fault)?;
        }
        time("host.wake_ps", self.wake_ps)?;
        range(
            "host.service_threads",
            u64::from(self.service_threads),
            1,
            1024,
            "must be from 1 to 1024",
        )?;
        range(
            "host.copy_threads",
            u64::from(self.copy_threads),
            1,
            1024,
            "must be from 1 to 1024",
        )?;
        rate("host.copy_bytes_per_second", self.copy_bytes_per_second)?;
        time("host.copy_setup_ps", self.copy_setup_ps)?;
        rate(
            "host.storage_read_bytes_per_second",
            self.storage_read_bytes_per_second,
        )?;
        rate(
            "host.storage_write_bytes_per_second",
            self.storage_write_bytes_per_second,
        )?;
        time("host.storage_read_ps", self.storage_read_ps)?;
        time("host.storage_write_ps", self.storage_write_ps)?;
        time("host.reconfigure_ps", self.reconfigure_ps)?;
        range(
            "host.storage_queue",
            u64::from(self.storage_queue),
            1,
            4096,
            "must be from 1 to 4096",
        )
    }
}

fn range(
    key: impl Into<String>,
    value: u64,
    least: u64,
    most: u64,
    rule: &'static str,
) -> Result<(), Broken> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(broken(key, value, rule))
    }
}

fn period(key: impl Into<String>, value: Picoseconds) -> Result<(), Broken> {
    range(
        key,
        value.get(),
        100,
        1_000_000,
        "must be from 100 ps to 1 us",
    )
}

fn rate(key: impl Into<String>, value: u64) -> Result<(), Broken> {
    let rule = "must be from 1 MB/s to 10 TB/s, in bytes a second";
    range(key, value, 1_000_000, 10_000_000_000_000, rule)
}

fn time(key: impl Into<String>, value: Picoseconds) -> Result<(), Broken> {
    range(
        key,
        value.get(),
        0,
        LONGEST.get(),
        "must be at most one second",
    )
}
