//! Figure 6: three kernels that transfer 1,000 chunks of 16 KiB each, one at a time, with equal priorities and with one
//! prioritised: from host memory over the link, as in the paper, and from card memory with a pause.

use super::super::Failure;
use crate::contended::{perf, prioritize, ALL, CHUNK, FIRST, PLAIN};
use card::Card;
use serde::{Deserialize, Serialize};
use simcard::SimOptions;
use std::fmt::Write;
use tombolo::{OwnerOptions, SlotId};
use units::{Fetch, PageSize, Priority};

/// Number of chunks, as in the paper.
pub const CHUNKS: u64 = 1000;
/// Pause after a chunk in cycles, on card memory, with which a kernel alone uses 57 % of the channel. The paper does not
/// print this share: it is 1.7 / 3, what three kernels with one chunk outstanding need for its speedup. So the ratios
/// on card memory are calibrated on the paper's 1.7; those over the link are predicted.
const PAUSE: u64 = 135;

/// Cycles per chunk of kernels that share a channel or the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contention {
    /// A kernel alone.
    pub alone: f64,
    /// Mean of three with equal priorities (the paper's RR).
    pub turns: f64,
    /// The prioritised kernel (HP).
    pub high: f64,
    /// The two others (LP-1, LP-2).
    pub low: [f64; 2],
    /// A chunk at the full rate of what is shared.
    pub full: f64,
}

impl Contention {
    fn of(alone: f64, turns: &[f64], first: &[f64], full: f64) -> Self {
        Self {
            alone,
            turns: turns.iter().sum::<f64>() / turns.len() as f64,
            high: first[0],
            low: [first[1], first[2]],
            full,
        }
    }

    /// Share that a kernel alone uses.
    pub fn share_alone(&self) -> f64 {
        self.full / self.alone
    }

    /// Our ratios, in the order of [`Vfpio::priorities`](super::Vfpio::priorities).
    pub fn ratios(&self) -> [f64; 3] {
        let low = (self.low[0] + self.low[1]) / 2.0;
        [low / self.high, self.turns / self.high, low / self.turns]
    }
}

/// Figures 6a and 6b with their inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure6 {
    /// From host memory over the link of the paper's card; nothing is tuned.
    pub link: Contention,
    /// From a channel of card memory, with a pause after each chunk.
    pub channel: Contention,
    /// Changes between slots on consecutive rows of the channel: with equal priorities, and with one prioritised.
    pub switches: [u64; 2],
}

impl Figure6 {
    /// Runs the kernels.
    ///
    /// # Errors
    /// The card cannot be opened, or a kernel fails.
    pub fn measure() -> Result<Self, Failure> {
        let mut bench = perf(CHUNKS * CHUNK, 1, PAUSE)?;
        let clock = bench.card().description().clock_period.as_seconds();
        let mut run = |slots: &[u8], schedule| -> Result<(Vec<f64>, u64), Failure> {
            prioritize(&mut bench, schedule)?;
            let before = bench.card().statistics()?.owner_changes.reads;
            let times = bench.run_each(slots)?.times;
            let switches = bench.card().statistics()?.owner_changes.reads - before;
            let cycles = times
                .iter()
                .map(|time| time.as_seconds() / clock / CHUNKS as f64);
            Ok((cycles.collect(), switches))
        };
        let (alone, _) = run(&[0], PLAIN)?;
        let (turns, in_turn) = run(&ALL, PLAIN)?;
        let (first, with_priority) = run(&ALL, FIRST)?;
        Ok(Self {
            link: over_link()?,
            channel: Contention::of(alone[0], &turns, &first, (CHUNK / 64) as f64),
            switches: [in_turn, with_priority],
        })
    }

    /// Slot changes with one prioritised, relative to equal priorities.
    pub fn switched(&self) -> f64 {
        self.switches[1] as f64 / self.switches[0].max(1) as f64
    }

    /// The figures as a human-readable table, with the paper's ratios.
    pub fn table(&self, papers: [f64; 3]) -> String {
        let mut text = format!(
            "\nFigure 6: three kernels, {CHUNKS} chunks of 16 KiB, one at a time\n{:<28}{:>14}{:>14}{:>20}\n",
            "cycles a chunk", "over the link", "card memory", "changes of slot"
        );
        let (link, channel) = (&self.link, &self.channel);
        let [in_turn, first] = self.switches;
        for (name, link, channel, switches) in [
            ("in turn (RR)", link.turns, channel.turns, Some(in_turn)),
            ("prioritised (HP)", link.high, channel.high, Some(first)),
            ("the others (LP-1)", link.low[0], channel.low[0], None),
            ("the others (LP-2)", link.low[1], channel.low[1], None),
            ("alone", link.alone, channel.alone, None),
        ] {
            let switches = switches.map_or(String::new(), |switches| switches.to_string());
            let _ = writeln!(text, "{name:<28}{link:>14.1}{channel:>14.1}{switches:>20}");
        }
        let pairs = link.ratios().into_iter().zip(channel.ratios()).zip(papers);
        for (name, ((link, channel), paper)) in RATIOS.iter().zip(pairs) {
            let _ = writeln!(text, "{name:<28}{link:>14.2}{channel:>14.2}{paper:>20}");
        }
        let [of_link, of_channel] = [link, channel].map(|one| 100.0 * one.share_alone());
        let _ = writeln!(
            text,
            "Over the link (predicted): pages of a chunk from host memory, on demand; one kernel alone uses {of_link:.0} % of \
             it.\nCard memory (calibrated on the paper's 1.7): a pause after each chunk; one alone uses {of_channel:.0} % of \
             the channel, 1.7 / 3. Changes are at the slot boundary; the paper's are a picture."
        );
        text
    }
}

/// The paper's card and link: each chunk is a page in host memory, fetched when the kernel asks for it, with the next one
/// no earlier.
fn over_link() -> Result<Contention, Failure> {
    let mut options = SimOptions::named("u280")?;
    options.shell.slots = ALL.len() as u8;
    options.shell.queues = ALL.len() as u8 + 2;
    let pcie = options.platform.pcie();
    let packet = pcie.completion_bytes + pcie.tlp_overhead + pcie.link_overhead;
    let payload = pcie.completion_bytes as f64 / packet as f64;
    let full = CHUNK as f64 / (pcie.wire_bytes_per_second as f64 * payload);
    let page = PageSize::from_bytes(CHUNK).ok_or("no such page")?;
    let bytes = CHUNKS * CHUNK;

    let owner = OwnerOptions {
        fetch: Fetch::OnDemand,
        ..OwnerOptions::default()
    };
    let card = tombolo::Card::simulated(options, owner, |_| {})?;
    let clock = card.describe()?.0.clock_period.as_seconds();
    let folder = simcard::home().join("kernels").join("perf");
    let mut kernels = Vec::new();
    for slot in ALL {
        let space = card.create_space()?;
        let [input, output] = [
            space.alloc_untrapped(bytes as usize, page)?,
            space.alloc_untrapped(4096, PageSize::KIB_4)?,
        ];
        let kernel = card.load(SlotId(slot), &folder, &space)?;
        kernel.set_pointer("input", input.address())?;
        kernel.set_pointer("output", output.address())?;
        kernel.set("bytes", bytes)?;
        kernel.set("chunk", CHUNK)?;
        kernel.set("window", 1)?;
        kernel.set("pause", 0)?;
        kernels.push((kernel, input, output, space));
    }
    let run = |slots: &[u8], priorities: [Priority; 3]| -> Result<Vec<f64>, Failure> {
        for ((kernel, input, ..), priority) in kernels.iter().zip(priorities) {
            input.take(0, bytes, true)?;
            kernel.set_priority(priority)?;
        }
        let before = card.report()?.runs.len();
        for slot in slots {
            kernels[usize::from(*slot)].0.start()?;
        }
        for slot in slots {
            kernels[usize::from(*slot)].0.join(None)?;
        }
        let runs = card.report()?.runs.split_off(before);
        let of = |slot: &u8| {
            let run = runs.iter().find(|run| run.slot == *slot);
            run.map(|run| run.time.as_seconds() / clock / CHUNKS as f64)
                .ok_or_else(|| Failure::from("a run is missing in the report"))
        };
        slots.iter().map(of).collect()
    };
    let alone = run(&ALL[..1], PLAIN)?;
    let (turns, first) = (run(&ALL, PLAIN)?, run(&ALL, FIRST)?);
    Ok(Contention::of(alone[0], &turns, &first, full / clock))
}

/// Labels of the three ratios.
pub const RATIOS: [&str; 3] = [
    "HP over LP, times faster",
    "HP over RR, times faster",
    "LP over RR, times as long",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_mean_of_the_others() {
        let contention =
            Contention::of(512.0, &[840.0, 850.0, 860.0], &[500.0, 890.0, 910.0], 256.0);
        let [over_low, over_turns, slower] = contention.ratios();
        assert!((over_low - 1.8).abs() < 1e-9 && (over_turns - 1.7).abs() < 1e-9);
        assert!((slower - 900.0 / 850.0).abs() < 1e-9);
        let figure = Figure6 {
            link: contention,
            channel: contention,
            switches: [200, 100],
        };
        assert_eq!((contention.share_alone(), figure.switched()), (0.5, 0.5));
        let table = figure.table([1.8, 1.7, 1.063]);
        assert!(table.contains("1.80") && table.contains("1.063"), "{table}");
    }
}
