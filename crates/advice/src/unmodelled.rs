//! Runs outside the model.

use std::fmt;
use tombolo::Report;
use units::Picoseconds;

/// Why a run gets no advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmodelled {
    /// The card has no virtual time.
    NoTime,
    /// Utilisation was not recorded.
    NotRecorded,
    /// No kernel has completed a run.
    NothingRan,
    /// Kernels of several slots shared the card.
    SeveralSlots,
    /// Bytes went through stream ports.
    Streams,
    /// Pages stayed in host memory.
    Direct,
    /// The program shares memory with the kernel.
    SharedMemory,
    /// Nothing crossed a memory port.
    NothingMoved,
}

impl fmt::Display for Unmodelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTime => "the card has no time",
            Self::NotRecorded => "nothing was recorded over time",
            Self::NothingRan => "no kernel ended",
            Self::SeveralSlots => "kernels in several slots",
            Self::Streams => "stream ports",
            Self::Direct => "pages that stay in host memory",
            Self::SharedMemory => "memory shared with the program",
            Self::NothingMoved => "no bytes through memory ports",
        })
    }
}

impl Unmodelled {
    /// Checks that the model applies to a report.
    pub(crate) fn check(report: &Report) -> Result<(), Self> {
        if !report.has_time() {
            return Err(Self::NoTime);
        }
        let Some(first) = report.runs.first() else {
            return Err(Self::NothingRan);
        };
        if report.runs.iter().any(|run| run.slot != first.slot) {
            return Err(Self::SeveralSlots);
        }
        let ports = usize::from(report.card.ports_per_slot.max(1));
        let memory = usize::from(report.card.memory_ports_per_slot());
        let requesters = report.statistics.requesters.iter().enumerate();
        let used = requesters.filter(|(_, requester)| requester.rows > 0);
        let (of_memory, of_streams): (Vec<_>, Vec<_>) =
            used.partition(|(number, _)| number / 2 % ports < memory);
        let sharing = report.paging.sharing;
        let shared = sharing.traps + sharing.upgraded + sharing.shared + sharing.returned;
        match () {
            () if !of_streams.is_empty() => Err(Self::Streams),
            () if of_memory.is_empty() => Err(Self::NothingMoved),
            () if report.paging.direct.pages > 0 => Err(Self::Direct),
            () if shared > 0 || sharing.protect_time > Picoseconds::ZERO => Err(Self::SharedMemory),
            () => Ok(()),
        }
    }
}
