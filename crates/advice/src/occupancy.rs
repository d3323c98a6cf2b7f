//! Utilisation of each resource while the kernel ran, and the time in which it alone was busy.

use crate::Unmodelled;
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
    /// Time that all rows of the kernel take on one memory channel.
    pub rows: Picoseconds,
    /// Time that rows which the DMA engine copied to the card or zeroed take on one memory channel.
    pub dma: Picoseconds,
    /// Time in which the shell made a port wait, without that for pages: page walks and card memory.
    pub memory: Picoseconds,
}

/// Times in which at least one of several tracks was busy.
fn any(record: &Record, wanted: impl Fn(&str) -> bool) -> Busy {
    let tracks = record.tracks.iter().filter(|track| wanted(&track.name));
    tracks.fold(Busy::default(), |all, track| all.or(&track.busy))
}

impl Occupancy {
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

        let period = report.card.clock_period;
        let statistics = &report.statistics;
        let requesters = statistics.requesters.iter();
        let rows = requesters.clone().map(|one| one.rows);
        let stalled: u64 = requesters.map(|one| one.shell_stall_cycles).sum();
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
            rows: (period * rows.sum::<u64>()).min(time),
            dma: period * dma,
            // Ports that wait concurrently count as if they took turns: a kernel stalled at one of them makes no
            // requests at the others.
            memory: (period * stalled - waiting).min(time - waiting),
        })
    }
}
