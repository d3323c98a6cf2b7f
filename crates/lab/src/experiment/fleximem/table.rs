//! The experiment as a table for people, and as comma-separated values.

use super::{FlexiMem, Outcome};
use std::fmt::Write;
use units::Picoseconds;

/// Ours over the paper's, as a difference in percent.
fn residual(ours: f64, paper: f64) -> f64 {
    (ours / paper - 1.0) * 100.0
}

impl FlexiMem {
    /// A row a page size: the paper's ratios reproduced, and ours.
    pub fn table(
        &self,
        ready: [Picoseconds; 2],
        reproduced: &[Outcome],
        ours: &[Outcome],
    ) -> String {
        let mut text = format!(
            "{}: reproduced (the paper's) and what is left\n",
            self.title
        );
        let _ = writeln!(
            text,
            "platform {}, {} KiB in place; fitted: {} cycles for 64 bytes, host `{}`",
            self.platform,
            self.bytes >> 10,
            self.paper.pace,
            self.paper.host
        );
        for difference in &self.known_differences {
            let _ = writeln!(text, "  known to differ: {difference}");
        }
        let _ = writeln!(
            text,
            "\ndata there already: {} (reproduced), {} (ours: {} cycles for 64 bytes, host `{}`)\n",
            ready[0], ready[1], self.ours.pace, self.ours.host
        );
        let _ = writeln!(
            text,
            "{:<8}{:>28}{:>30}{:>16}{:>14}",
            "pages", "fig. 7: over ready", "fig. 8: traps add", "ours: over", "traps add"
        );
        for ((page, outcome), ours) in self.page.iter().zip(reproduced).zip(ours) {
            let over = outcome.over_ready(ready[0]);
            let traps = outcome.traps();
            let left = residual(1.0 + traps, 1.0 + page.traps);
            let _ = writeln!(
                text,
                "{:<8}{:>28}{:>30}{:>16}{:>14}",
                page.name,
                format!(
                    "{over:.2} ({}) {:+.1} %",
                    page.over_ready,
                    residual(over, page.over_ready)
                ),
                format!(
                    "{:.1} % ({:.1} %) {left:+.1} %",
                    traps * 100.0,
                    page.traps * 100.0
                ),
                format!("{:.2}", ours.over_ready(ready[1])),
                format!("{:.1} %", ours.traps() * 100.0)
            );
        }
        text.push_str(
            "\nWhat is left of figure 8 is that of the time with traps over the time without.\n",
        );
        text
    }

    /// A line a page size.
    pub fn comma_separated(
        &self,
        ready: [Picoseconds; 2],
        reproduced: &[Outcome],
        ours: &[Outcome],
    ) -> String {
        let mut text =
            "page,over_ready,paper_over_ready,traps,paper_traps,our_over_ready,our_traps\n"
                .to_owned();
        for ((page, outcome), ours) in self.page.iter().zip(reproduced).zip(ours) {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{}",
                page.name,
                outcome.over_ready(ready[0]),
                page.over_ready,
                outcome.traps(),
                page.traps,
                ours.over_ready(ready[1]),
                ours.traps()
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_shown() {
        let folder = card::sim::home().join("experiments");
        let experiment = FlexiMem::read(&folder).unwrap();
        let micros = Picoseconds::from_micros;
        let outcome = Outcome {
            trapped: micros(266),
            basic: micros(200),
        };
        let all = vec![outcome; experiment.page.len()];
        let table = experiment.table([micros(20), micros(40)], &all, &all);
        assert!(table.contains("13.30 (13.3) +0.0 %"), "{table}");
        assert!(table.contains("33.0 % (10.8 %) +20.0 %"), "{table}");
        assert!(table.contains("6.65"), "{table}");
        let values = experiment.comma_separated([micros(20), micros(40)], &all, &all);
        assert_eq!(values.lines().count(), 1 + all.len());
    }
}
