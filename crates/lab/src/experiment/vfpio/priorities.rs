//! Figure 6: three kernels that transfer 1,000 chunks of 16 KiB each, one at a time, with equal priorities and with one
//! prioritised.

use super::super::Failure;
use crate::contended::{perf, prioritize, ALL, CHUNK, FIRST, PLAIN};
use card::Card;
use std::fmt::Write;

/// Number of chunks, as in the paper.
pub const CHUNKS: u64 = 1000;
/// Pause after a chunk in cycles with which a slot alone uses the same share of the channel as one of the paper's uses
/// of its link: 57 %, from 1.10 us of data and 0.75 us of latency. Card memory has a lower latency than a host.
const PAUSE: u64 = 135;

/// Statements of section 6.4.1: speedup of the prioritised kernel relative to the others, and to equal priorities;
/// slowdown of the others relative to equal priorities.
pub const PAPER: [f64; 3] = [1.8, 1.7, 1.063];

/// Figures 6a and 6b with their inputs; cycles are per chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure6 {
    /// Cycles of a kernel alone.
    pub alone: f64,
    /// Mean cycles of three with equal priorities (the paper's RR).
    pub turns: f64,
    /// Cycles of the prioritised kernel (HP).
    pub high: f64,
    /// Cycles of the two others (LP-1, LP-2).
    pub low: [f64; 2],
    /// Number of changes between slots on consecutive rows: with equal priorities, and with one prioritised.
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
            alone: alone[0],
            turns: turns.iter().sum::<f64>() / turns.len() as f64,
            high: first[0],
            low: [first[1], first[2]],
            switches: [in_turn, with_priority],
        })
    }

    /// Share of the channel that a kernel alone uses.
    pub fn share_alone(&self) -> f64 {
        (CHUNK / 64) as f64 / self.alone
    }

    /// Our ratios, in the order of [`PAPER`].
    pub fn ratios(&self) -> [f64; 3] {
        let low = (self.low[0] + self.low[1]) / 2.0;
        [low / self.high, self.turns / self.high, low / self.turns]
    }

    /// Slot changes with one prioritised, relative to equal priorities.
    pub fn switched(&self) -> f64 {
        self.switches[1] as f64 / self.switches[0].max(1) as f64
    }

    /// The figures as a human-readable table.
    pub fn table(&self) -> String {
        let mut text = format!(
            "\nFigure 6: three kernels, {CHUNKS} chunks of 16 KiB, one at a time\n{:<28}{:>14}{:>20}\n",
            "", "cycles a chunk", "changes of slot"
        );
        let [low1, low2] = self.low;
        let [in_turn, first] = self.switches;
        for (name, cycles, switches) in [
            ("in turn (RR)", self.turns, Some(in_turn)),
            ("the one that goes first (HP)", self.high, Some(first)),
            ("the others (LP-1)", low1, None),
            ("the others (LP-2)", low2, None),
        ] {
            let switches = switches.map_or(String::new(), |switches| switches.to_string());
            let _ = writeln!(text, "{name:<28}{cycles:>14.1}{switches:>20}");
        }
        for (name, (ours, paper)) in RATIOS.iter().zip(self.ratios().into_iter().zip(PAPER)) {
            let _ = writeln!(text, "{name:<44}{ours:.2} ({paper})");
        }
        let share = 100.0 * self.share_alone();
        let _ = writeln!(
            text,
            "One alone has {share:.0} % of the channel, as the paper's has of its link (57 %). Changes are at the slot \
             boundary; the paper's are a picture."
        );
        text
    }
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
        let figure = Figure6 {
            alone: 512.0,
            turns: 850.0,
            high: 500.0,
            low: [890.0, 910.0],
            switches: [200, 100],
        };
        let [over_low, over_turns, slower] = figure.ratios();
        assert!((over_low - 1.8).abs() < 1e-9 && (over_turns - 1.7).abs() < 1e-9);
        assert!((slower - 900.0 / 850.0).abs() < 1e-9);
        assert_eq!((figure.share_alone(), figure.switched()), (0.5, 0.5));
        assert!(figure.table().contains("1.80 (1.8)"), "{}", figure.table());
    }
}
