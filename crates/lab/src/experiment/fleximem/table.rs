//! Output of the experiment as a readable table, and as comma-separated values.

use super::{FlexiMem, Pages};
use std::fmt::Write;

/// Deviation of ours from the paper's in percent.
fn residual(ours: f64, paper: f64) -> f64 {
    (ours / paper - 1.0) * 100.0
}

impl FlexiMem {
    /// One row per page size: the paper's ratios reproduced, and ours.
    pub fn table(&self, pages: &Pages) -> String {
        let (compared, ours) = (pages.compared(), &pages.ours);
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
            compared.ready, ours.ready, self.ours.pace, self.ours.host
        );
        let _ = writeln!(
            text,
            "{:<8}{:>28}{:>30}{:>16}{:>14}",
            "pages", "fig. 7: over ready", "fig. 8: traps add", "ours: over", "traps add"
        );
        for ((page, outcome), of_ours) in self.page.iter().zip(&compared.pages).zip(&ours.pages) {
            let over = outcome.over_ready(compared.ready);
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
                format!("{:.2}", of_ours.over_ready(ours.ready)),
                format!("{:.1} %", of_ours.traps() * 100.0)
            );
        }
        text.push_str(
            "\nWhat is left of figure 8 is that of the time with traps over the time without.\n",
        );
        text
    }

    /// One line per page size.
    pub fn comma_separated(&self, pages: &Pages) -> String {
        let (compared, ours) = (pages.compared(), &pages.ours);
        let mut text =
            "page,over_ready,paper_over_ready,traps,paper_traps,our_over_ready,our_traps\n"
                .to_owned();
        for ((page, outcome), of_ours) in self.page.iter().zip(&compared.pages).zip(&ours.pages) {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{}",
                page.name,
                outcome.over_ready(compared.ready),
                page.over_ready,
                outcome.traps(),
                page.traps,
                of_ours.over_ready(ours.ready),
                of_ours.traps()
            );
        }
        text
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{OfSize, PageTimes};
    use super::*;
    use units::Picoseconds;

    /// Figures with equal times on all pages.
    pub(in super::super) fn pages(experiment: &FlexiMem) -> Pages {
        let micros = Picoseconds::from_micros;
        let outcome = PageTimes {
            trapped: micros(266),
            basic: micros(200),
        };
        let of_size = |bytes, ready| OfSize {
            bytes,
            ready: micros(ready),
            pages: vec![outcome; experiment.page.len()],
        };
        let sizes = experiment.sizes.iter();
        Pages {
            reproduced: sizes.map(|&bytes| of_size(bytes, 20)).collect(),
            ours: of_size(experiment.bytes, 40),
        }
    }

    #[test]
    fn what_is_left_is_shown() {
        let folder = simcard::home().join("experiments");
        let experiment = FlexiMem::read(&folder).unwrap();
        let all = pages(&experiment);
        let table = experiment.table(&all);
        assert!(table.contains("13.30 (13.3) +0.0 %"), "{table}");
        assert!(table.contains("33.0 % (10.8 %) +20.0 %"), "{table}");
        assert!(table.contains("6.65"), "{table}");
        let values = experiment.comma_separated(&all);
        assert_eq!(values.lines().count(), 1 + experiment.page.len());
    }
}
