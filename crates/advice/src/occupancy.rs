//! Utilisation of each resource while the kernel ran, and the time in which it alone was busy.

use crate::{Resource, Unmodelled};
use timeline::{Busy, Record};
use tombolo::Report;
use units::{Picoseconds, ROW_BYTES};

/// A resource of the host or the link during a run. All times are within the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Time with work in progress.
    pub busy: Picoseconds,
    /// Part of it in which an access waited for a page.
    pub waited: Picoseconds,
    /// Part of it in which no other resource of host and link was busy.
    pub alone: Picoseconds,
}

/// The time of a run, divided among its resources. All of it is within the run, from start to done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Time from start to done.
    pub run: Picoseconds,
    /// Time with at least one access waiting for a page.
    pub waiting: Picoseconds,
    /// The thread that serves faults.
    pub service: Use,
    /// Copies between page cache and buffers.
    pub copies: Use,
    /// Reads and writes of storage.
    pub storage: Use,
    /// PCIe, both ways.
    pub link: Use,
    /// Time in which an access waited for a page and neither host nor link was busy: messages under way.
    pub messages: Picoseconds,
    /// Time in which no access waited for a page and neither host nor link was busy.
    pub card_alone: Picoseconds,
    /// Time in which rows crossed the busiest port.
    pub port: Picoseconds,
    /// Time that the kernel's rows take on the busiest memory channel.
    pub rows: Picoseconds,
    /// Time that rows which the DMA engine copied to the card or zeroed take on one memory channel.
    pub dma: Picoseconds,
    /// Time in which no access waited for a page and the DMA engine copied or zeroed.
    pub dma_beside: Picoseconds,
    /// Time in which the shell made a port wait, without that for pages: page walks and card memory.
    pub stalled: Picoseconds,
    /// Part of it that is due to card memory, not to the shell's own latency.
    pub memory: Picoseconds,
}

/// Times in which at least one of several tracks was busy.
fn any(record: &Record, wanted: impl Fn(&str) -> bool) -> Busy {
    let tracks = record.tracks.iter().filter(|track| wanted(&track.name));
    tracks.fold(Busy::default(), |all, track| all.or(&track.busy))
}

/// Tracks of commands that move rows between card memory and the DMA engine.
const DMA_ENGINE: [&str; 3] = [
    "commands/DMA to the card",
    "commands/DMA to the host",
    "commands/zeroes",
];

/// Of some rows, those on the busiest channel, if they are spread over channels as all rows of the run are.
fn on_busiest_channel(report: &Report, rows: u64) -> u64 {
    let channels = report.statistics.channels.iter();
    let each = channels.map(|channel| channel.rows_read + channel.rows_written);
    let (most, all) = each.fold((0, 0), |(most, all), one| (most.max(one), all + one));
    match all {
        0 => rows,
        all => (rows as f64 * most as f64 / all as f64).round() as u64,
    }
}

/// Least time from address to last beat, of all but a hundredth of a track's accesses; the mean over a group of tracks.
fn latency(record: &Record, wanted: impl Fn(&str) -> bool) -> Option<f64> {
    let tracks = record.tracks.iter().filter(|track| wanted(&track.name));
    let lengths = tracks.flat_map(|track| track.kinds.iter().map(|kind| &kind.lengths));
    let (sum, count) = lengths.fold((0.0, 0.0), |(sum, count), one| {
        let accesses = one.count() as f64;
        (
            sum + accesses * one.quantile(0.01).get() as f64,
            count + accesses,
        )
    });
    (count > 0.0).then(|| sum / count)
}

/// Cycles in which the shell made ports wait.
struct Stalls {
    cycles: u64,
    /// Share of them that is due to card memory and the way to it, 0 to 1.
    of_memory: f64,
}

impl Stalls {
    /// Single beats wait for a latency, of which card memory is a part; long bursts wait for its bandwidth, and the latency
    /// counts once a burst.
    fn of(report: &Report, record: &Record) -> Self {
        let ports = usize::from(report.card.ports_per_slot).max(1);
        let (mut cycles, mut memory) = (0, 0.0);
        let channels = ["reads", "writes"].map(|way| {
            latency(record, |name| {
                name.starts_with("card memory/channel ") && name.ends_with(way)
            })
        });
        let requesters = report.statistics.requesters.iter().enumerate();
        for (number, one) in requesters.filter(|(_, one)| one.shell_stall_cycles > 0) {
            let way = ["reads", "writes"][number % 2];
            let (slot, port) = (number / 2 / ports, number / 2 % ports);
            let own = format!("slot {slot}/port {port} {way}");
            let at_port = latency(record, |name| name.starts_with(&own));
            let at_channel = channels[number % 2];
            // A miss is a page walk: an access to card memory, too.
            let walks = one.l1_misses as f64 / one.bursts.max(1) as f64;
            let of_shell = match (at_port, at_channel.map(|channel| channel * (1.0 + walks))) {
                (Some(port), Some(memory)) if port > memory => 1.0 - memory / port,
                _ => 0.0,
            };
            let of_latency = one.bursts as f64 / one.rows.max(1) as f64;
            cycles += one.shell_stall_cycles;
            memory += one.shell_stall_cycles as f64 * (1.0 - of_latency.min(1.0) * of_shell);
        }
        Self {
            cycles,
            of_memory: match cycles {
                0 => 1.0,
                cycles => memory / cycles as f64,
            },
        }
    }
}

impl Occupancy {
    /// The stages of page-in.
    pub fn stages(&self) -> [(Resource, Use); 4] {
        [
            (Resource::FaultService, self.service),
            (Resource::Copies, self.copies),
            (Resource::Storage, self.storage),
            (Resource::Link, self.link),
        ]
    }

    /// Divides the runs of a report; `record` is what its card recorded.
    ///
    /// # Errors
    /// The reason why there is no model of the run.
    pub fn of(report: &Report, record: Option<&Record>) -> Result<Self, Unmodelled> {
        Unmodelled::check(report)?;
        let record = record.ok_or(Unmodelled::NotRecorded)?;
        let is_run = |name: &str| name.starts_with("slot ") && name.ends_with("/runs");
        let run = any(record, is_run);
        let within = |name: &str| any(record, |track| track == name).and(&run);
        let faults = any(record, |name| name.ends_with("/faults")).and(&run);
        let stages = [
            within("host/fault service"),
            within("host/page-cache copies"),
            within("host/storage"),
            any(record, |name| name.starts_with("PCIe/")).and(&run),
        ];
        let [service, copies, storage, link] = [0, 1, 2, 3].map(|number| {
            let others = stages.iter().enumerate();
            let others = others.filter(|(other, _)| *other != number);
            let others = others.fold(Busy::default(), |sum, (_, other)| sum.or(other));
            let waited = stages[number].and(&faults);
            Use {
                busy: stages[number].total(),
                waited: waited.total(),
                alone: waited.total() - waited.overlap(&others),
            }
        });
        let host = stages
            .iter()
            .fold(Busy::default(), |sum, stage| sum.or(stage));
        let (time, waiting) = (run.total(), faults.total());
        if time == Picoseconds::ZERO {
            return Err(Unmodelled::NothingRan);
        }

        let engine = any(record, |name| DMA_ENGINE.contains(&name)).and(&run);
        let period = report.card.clock_period;
        let statistics = &report.statistics;
        let requesters = statistics.requesters.iter();
        let rows = requesters.clone().map(|one| one.rows);
        let stalls = Stalls::of(report, record);
        // Ports that wait concurrently count as if they took turns: a kernel stalled at one of them makes no requests at the
        // others.
        let stalled = (period * stalls.cycles - waiting).min(time - waiting);
        let dma = statistics.link.bytes_to_card / ROW_BYTES + statistics.link.rows_zeroed;
        Ok(Self {
            run: time,
            waiting,
            service,
            copies,
            storage,
            link,
            messages: waiting - faults.overlap(&host),
            card_alone: time - run.overlap(&host.or(&faults)),
            port: (period * rows.clone().max().unwrap_or(0)).min(time),
            rows: (period * on_busiest_channel(report, rows.sum())).min(time),
            dma: period * dma,
            dma_beside: engine.total() - engine.overlap(&faults),
            stalled,
            memory: Picoseconds::new((stalled.get() as f64 * stalls.of_memory).round() as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tombolo::{Card, FunctionalCard, FunctionalConfig, Timeline};

    /// Requesters are numbered over all ports of a slot, those of streams as well.
    #[test]
    fn stalls_of_a_slot_behind_one_with_streams_are_its_own() {
        let card = FunctionalCard::new(FunctionalConfig {
            slots: 2,
            streams_per_slot: 1,
            ..FunctionalConfig::default()
        });
        let mut report = Card::functional(card).unwrap().report().unwrap();
        let ports = usize::from(report.card.ports_per_slot);
        assert_eq!(ports, 1 + usize::from(report.card.memory_ports_per_slot()));
        let reads = &mut report.statistics.requesters[2 * ports];
        (reads.bursts, reads.rows, reads.shell_stall_cycles) = (100, 100, 1000);

        let timeline = Timeline::recorder();
        let ns = Picoseconds::from_nanos;
        for (group, track, length) in [
            ("slot 1", "port 0 reads", 400),
            ("card memory", "channel 0 reads", 100),
        ] {
            let group = timeline.group(group, None);
            let track = timeline.lanes(track, Some(group));
            timeline.slice(track, "read", ns(0), ns(length), &[]);
        }
        let stalls = Stalls::of(&report, &timeline.record().unwrap());
        assert_eq!(stalls.cycles, 1000);
        assert!(
            (stalls.of_memory - 0.25).abs() < 0.05,
            "{}",
            stalls.of_memory
        );
    }
}
